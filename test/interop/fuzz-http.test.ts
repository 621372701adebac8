import { fuzzHttp } from "../fuzz/http-suite.ts";

fuzzHttp(1_000_000);
