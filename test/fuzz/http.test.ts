import { rounds } from "../support/full-run.ts";
import { fuzzHttp } from "./http-suite.ts";

fuzzHttp(rounds({ few: 1_000, all: 1_000_000 }));
