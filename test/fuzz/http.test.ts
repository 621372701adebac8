import { fuzzHttp } from "./http-suite.ts";

fuzzHttp(6_000);
