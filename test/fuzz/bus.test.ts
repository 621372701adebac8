import { fuzzBus } from "./bus-suite.ts";

fuzzBus(4_000);
