import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { signal } from "@preact/signals";

import { addShortcuts, shortcuts } from "../client/keyboard.ts";
import { go, linkTo, type Route, route } from "../client/router.ts";
import {
  connection,
  hasScope,
  mayDo,
  me,
  overview,
  retryNow,
  sessions,
  troubles,
  waitingCount,
} from "../client/state.ts";
import { Dialog } from "../form/dialog.tsx";
import { draft } from "../start/start-draft.ts";
import { openStart, StartDialog } from "../start/start-dialog.tsx";
import { SessionPage } from "../session/session-page.tsx";
import { Button, Empty, focusSearch, problem, setterOf, toggle } from "../view/parts.tsx";
import { AuditPage } from "./audit-page.tsx";
import { FleetPage } from "./fleet-page.tsx";
import { IdentitiesPage } from "./identities-page.tsx";
import { LoginsPage } from "./logins-page.tsx";
import { ReviewPage } from "./review-page.tsx";
import { RunsPage } from "./runs-page.tsx";
import { ServersPage } from "./servers-page.tsx";
import { SessionsPage } from "./sessions-page.tsx";
import { StartPage } from "./start-page.tsx";
import { TokensPage } from "./tokens-page.tsx";
import { ToolboxPage } from "./toolbox-page.tsx";

interface PageEntry {
  readonly page: string;
  readonly name: string;
  /** The second key after g. */
  readonly key: string;
  readonly show: (route: Route) => JSX.Element;
  readonly count?: () => number;
  readonly scope?: string;
  /** Only on a server that belongs to a fleet. */
  readonly isOfFleet?: boolean;
}

const PAGES: readonly PageEntry[] = [
  { page: "start", name: "Start", key: "h", show: () => <StartPage /> },
  {
    page: "sessions",
    name: "Sessions",
    key: "s",
    show: ({ id }) => (id === undefined ? <SessionsPage /> : <SessionPage key={id} id={id} />),
    count: () => waitingCount.value,
  },
  { page: "runs", name: "Remote runs", key: "r", show: ({ id }) => <RunsPage id={id} /> },
  {
    page: "review",
    name: "Review",
    key: "v",
    show: () => <ReviewPage />,
    count: () => overview.value?.counts.threads ?? 0,
  },
  { page: "identities", name: "Identities", key: "i", show: () => <IdentitiesPage /> },
  {
    page: "toolbox",
    name: "Toolbox",
    key: "t",
    show: ({ id }) => <ToolboxPage part={id} />,
    count: () => overview.value?.counts.approvals ?? 0,
  },
  {
    page: "servers",
    name: "Servers",
    key: "u",
    show: () => <ServersPage />,
    count: () => overview.value?.counts.down ?? 0,
  },
  { page: "fleet", name: "Fleet", key: "f", show: () => <FleetPage />, isOfFleet: true },
  { page: "audit", name: "Audit", key: "a", show: () => <AuditPage /> },
  { page: "logins", name: "Logins", key: "l", show: () => <LoginsPage /> },
  { page: "tokens", name: "Tokens", key: "k", show: () => <TokensPage />, scope: "admin" },
];

const isMenuOpen = signal(false);
const isHelpOpen = signal(false);

export function App(): JSX.Element {
  const at = route.value;
  const entry = PAGES.find(({ page }) => page === at.page);
  useEffect(() => {
    return addShortcuts([
      ...PAGES.map(({ page, name, key }) => ({
        keys: `g ${key}`,
        says: name,
        run: () => go(linkTo(page)),
      })),
      { keys: "c", says: "New session or remote run", run: () => openStart() },
      { keys: "/", says: "Search", run: focusSearch },
      { keys: "?", says: "Keyboard help", run: toggle(isHelpOpen) },
      { keys: "Escape", says: "", run: closeAll },
    ]);
  }, []);
  useEffect(() => {
    isMenuOpen.value = false;
    problem.value = undefined;
  }, [at.page, at.id]);
  const waiting = waitingCount.value;
  const name = (at.id === undefined ? undefined : sessions.get(at.id)?.title) ?? entry?.name;
  useEffect(() => {
    document.title = `${waiting > 0 ? `(${waiting}) ` : ""}${name ?? "Trunkline"} · Trunkline`;
  }, [waiting, name]);
  return (
    <div class="app">
      <a class="skip" href="#main" onClick={skip}>
        Skip to the content
      </a>
      <Sidebar current={at.page} />
      <main id="main" tabIndex={-1}>
        <Banner />
        {connection.value.is === "refused" ? (
          <SignedOut />
        ) : entry === undefined ? (
          <Empty title="There is no such page">
            <a href={linkTo("start")}>Start</a>
          </Empty>
        ) : (
          entry.show(at)
        )}
      </main>
      {isHelpOpen.value ? <Help /> : null}
      {draft.value.isOpen && mayDo("sessions") ? <StartDialog /> : null}
    </div>
  );
}

function skip(event: Event): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

function closeAll(): boolean {
  const isOpen = isHelpOpen.value || isMenuOpen.value || problem.value !== undefined;
  isHelpOpen.value = false;
  isMenuOpen.value = false;
  problem.value = undefined;
  return isOpen;
}

function isShown({ scope, isOfFleet }: PageEntry): boolean {
  if (isOfFleet === true && me.value?.fleet === undefined) return false;
  return scope === undefined || hasScope(scope);
}

function Sidebar({ current }: { readonly current: string }): JSX.Element {
  return (
    <div class={`sidebar ${isMenuOpen.value ? "open" : ""}`}>
      <div class="brand">
        <strong>Trunkline</strong>
        <Connection />
        {mayDo("sessions") ? (
          <Button class="start-button" onClick={() => openStart()}>
            New <kbd>c</kbd>
          </Button>
        ) : null}
        <Button
          class="quiet menu-button"
          aria-expanded={isMenuOpen.value}
          aria-controls="pages"
          onClick={toggle(isMenuOpen)}
        >
          Menu
        </Button>
      </div>
      <nav id="pages" aria-label="Pages">
        {PAGES.filter(isShown).map(({ page, name, count }) => (
          <a key={page} href={linkTo(page)} aria-current={page === current ? "page" : undefined}>
            {name} {(count?.() ?? 0) > 0 ? <span class="count">{count?.()}</span> : null}
          </a>
        ))}
      </nav>
      <Button class="quiet help-button" onClick={toggle(isHelpOpen)}>
        Keys <kbd>?</kbd>
      </Button>
    </div>
  );
}

const STATES = {
  connecting: ["wait", "connecting"],
  live: ["good", "live"],
  waiting: ["bad", "reconnecting"],
  refused: ["bad", "signed out"],
} as const;

function Connection(): JSX.Element {
  const [tone, text] = STATES[connection.value.is];
  return (
    <span class={`connection ${tone}`} role="status">
      <span class="mark" aria-hidden="true" />
      {text}
    </span>
  );
}

const dismiss = setterOf(problem);

/** What the person should know above every page. */
function Banner(): JSX.Element {
  const { is } = connection.value;
  useEffect(() => {
    // Failures while the connection was lost do not apply any more.
    if (is === "live") dismiss(undefined);
  }, [is]);
  return (
    <div class="banners" aria-live="polite">
      {is === "waiting" ? (
        <div class="banner wait" role="status">
          The connection to Trunkline is lost. What is shown may be old.
          <Button onClick={retryNow}>Try now</Button>
        </div>
      ) : null}
      {problem.value === undefined ? null : (
        <div class="banner bad" role="alert">
          {problem.value}
          <Button onClick={() => dismiss(undefined)}>Dismiss</Button>
        </div>
      )}
      {troubles.value.map(({ id, level, says, session }) => (
        <div key={id} class={`banner ${level === "error" ? "bad" : "wait"}`} role="status">
          {says}
          {session === undefined ? null : <a href={linkTo("sessions", session)}>Session</a>}
        </div>
      ))}
    </div>
  );
}

function SignedOut(): JSX.Element {
  return (
    <Empty title="This browser is not signed in any more" run="trunkline open">
      <p>Open a fresh link from a terminal:</p>
    </Empty>
  );
}

function Help(): JSX.Element {
  const close = (): void => {
    isHelpOpen.value = false;
  };
  const listed = new Map(
    shortcuts.value.filter(({ says }) => says !== "").map(({ keys, says }) => [keys, says]),
  );
  return (
    <Dialog title="Keys" label="Keyboard help" class="help" onClose={close}>
      <dl>
        {[...listed].map(([keys, says]) => (
          <div key={keys}>
            <dt>
              {keys.split(" ").map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{says}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
