import { rounds } from "../support/full-run.ts";
import { fuzzStdio } from "./stdio-suite.ts";

fuzzStdio(rounds({ few: 1_000, all: 1_000_000 }));
