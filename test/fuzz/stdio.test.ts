import { fuzzStdio } from "./stdio-suite.ts";

fuzzStdio(8_000);
