import * as s from "../../base/capability/settings.ts";

/** Notifications to people who are away. */
export const notifications = {
  name: "notifications",
  settings: {
    notifications: s.list(
      s.shape(
        "NotificationSettings",
        "Who is notified of what happens in sessions, and how: by one of `command`, `webhook` " +
          "and `push`.",
        {
          name: s.text("Name in `trunkline notification list`.", {
            pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$",
          }),
          on: s.list(
            { type: "string", enum: ["permission", "question", "turn-ended", "failed"] },
            "Reasons: an agent asks for permission, an agent asks a question, a turn has ended, a " +
              "turn has failed; all of them if left out.",
            { minItems: 1 },
          ),
          detail: s.flag(
            "Whether to send the title of the session, what the agent asks and the folder. Without " +
              "it, a notification has no words of prompts, agents or code.",
          ),
          command: s.list(
            s.ANY_TEXT,
            "Program and arguments to start, without a shell. It reads the notification from " +
              "standard input, as JSON.",
            { minItems: 1 },
          ),
          timeout: s.integer("Seconds that the command or the request may take; 30 if left out.", {
            minimum: 1,
            maximum: 600,
          }),
          webhook: s.group(
            {
              url: s.url("Address that the notification is posted to, as JSON; `https`."),
              headers: s.byName(s.ANY_TEXT, "Headers to send with it."),
            },
            { required: ["url"] },
          ),
          push: s.flag("Whether to notify the browsers that subscribed to it (Web Push)."),
          allowHosts: s.list(
            { type: "string", pattern: String.raw`^(\*\.)?[A-Za-z0-9_.-]+$` },
            "Hosts of push services, in addition to those of the known browsers; `*.` matches " +
              "subdomains.",
          ),
          allowPrivate: s.flag(
            "Whether the address may be one of this machine or a private network, and without TLS.",
          ),
        },
      ),
      "Who is notified of what happens in sessions while nobody looks.",
      { default: [], "x-project": false },
    ),
  },
} satisfies s.SettingsSchema;
