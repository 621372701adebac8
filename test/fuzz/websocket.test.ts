import { fuzzWebSocket } from "./websocket-suite.ts";

fuzzWebSocket(1_500);
