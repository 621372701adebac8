import { fuzzStdio } from "./stdio-suite.ts";

fuzzStdio(20_000);
