import { fuzzHttp } from "./http-suite.ts";

fuzzHttp(1_500);
