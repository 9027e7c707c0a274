/** The table that holds locks and records of BASE transactions, made and registered. */
import { baseExpiryAttribute, baseRecordsKeys, baseRecordsTable } from "../core/base-tables.ts";
import type { Clock, ControlStore } from "../core/ports.ts";
import type { DynamoDbHandle } from "./clients.ts";
import { createTable, enableExpiry } from "./create-tables.ts";
import { describeTable } from "./described-table.ts";

type Parts = {
  readonly dynamodb: DynamoDbHandle;
  readonly control: Pick<ControlStore, "registerTable">;
  readonly clock: Clock;
};

/**
 * Before the first table is registered that BASE transactions may use. On AWS Terraform has made it
 * (`base = true`); it is made here where it is missing.
 * @throws StoreError when it is missing and this process may not make it.
 */
export async function ensureBaseRecords(
  { dynamodb, control, clock }: Parts,
  controlTable: string,
): Promise<void> {
  const name = baseRecordsTable(controlTable);
  if ((await describeTable(dynamodb, name)) === undefined) {
    await createTable({ dynamodb, clock }, { name, ...baseRecordsKeys });
    await enableExpiry(dynamodb, { name, attribute: baseExpiryAttribute });
  }
  await control.registerTable({
    ...{ name, ...baseRecordsKeys },
    // The past of a table is read beside the locks that held then.
    history: true,
    access: "transactional",
  });
}
