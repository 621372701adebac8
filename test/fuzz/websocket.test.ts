import { fuzzWebSocket } from "./websocket-suite.ts";

fuzzWebSocket(15_000);
