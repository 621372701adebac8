import { fuzzBus } from "./bus-suite.ts";

fuzzBus(1_500);
