import { fuzzWebSocket } from "./websocket-suite.ts";

fuzzWebSocket(6_000);
