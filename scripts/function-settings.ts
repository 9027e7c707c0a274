/**
 * `npm run function-settings`: writes infra/terraform/functions.json, the form in which Terraform
 * reads the table of functions/shared/settings.ts.
 */
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import {
  functionSettings,
  scheduleExpression,
  type FunctionSettings,
} from "../functions/shared/settings.ts";

/** The file's text, ending with a newline. */
export function functionSettingsText(): string {
  const entries = Object.entries<FunctionSettings>(functionSettings);
  const rendered = entries.map(([role, { schedule, ...settings }]) => {
    if (schedule === undefined) return [role, settings];
    const { everyMinutes: _everyMinutes, ...rest } = schedule;
    return [role, { ...settings, schedule: { rate: scheduleExpression(schedule), ...rest } }];
  });
  return `${JSON.stringify(Object.fromEntries(rendered), undefined, 2)}\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(
    new URL("../infra/terraform/functions.json", import.meta.url),
    functionSettingsText(),
  );
}
