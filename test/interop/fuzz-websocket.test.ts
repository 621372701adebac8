import { fuzzWebSocket } from "../fuzz/websocket-suite.ts";

fuzzWebSocket(1_000_000);
