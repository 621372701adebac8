import { rounds } from "../support/full-run.ts";
import { fuzzWebSocket } from "./websocket-suite.ts";

fuzzWebSocket(rounds({ few: 1_500, all: 1_000_000 }));
