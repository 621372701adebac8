import { fuzzBus } from "./bus-suite.ts";

fuzzBus(8_000);
