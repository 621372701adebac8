import type { JSX } from "preact";

import { pushBrowser, pushState, switchPushOff, switchPushOn } from "../client/push.ts";
import { act, Badge, Button, useLoaded } from "./parts.tsx";

/** Switches push messages to this browser on and off. */
export function PushSwitch(): JSX.Element {
  const browser = pushBrowser();
  const [state, , reload] = useLoaded(() => pushState(browser), []);
  const isOn = state === "on";
  return (
    <section aria-label="Notifications">
      <h2>Notifications in this browser {isOn ? <Badge tone="good">on</Badge> : null}</h2>
      {browser === undefined ? (
        <p>This browser has no push messages here. They need a page with https.</p>
      ) : (
        <>
          <p>When an agent needs you, this device shows it, with buttons that answer.</p>
          <Button
            onClick={() =>
              act(async () => {
                await (isOn ? switchPushOff(browser) : switchPushOn(browser));
                reload();
              })
            }
          >
            {isOn ? "Switch off" : "Switch on"}
          </Button>
        </>
      )}
    </section>
  );
}
