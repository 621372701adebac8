import { fuzzStdio } from "../fuzz/stdio-suite.ts";

fuzzStdio(1_000_000);
