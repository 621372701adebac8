import { fuzzStdio } from "./stdio-suite.ts";

fuzzStdio(2_000);
