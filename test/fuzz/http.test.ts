import { fuzzHttp } from "./http-suite.ts";

fuzzHttp(15_000);
