/** The customer whom a terminal names by number or by last name (clauses 2.5.2.2 and 2.6.2.2). */
import type { BenchTransaction } from "../../harness/workload.ts";
import { queryRows, standing, standingRow } from "../typed-rows.ts";
import type { CustomerChoice } from "./inputs.ts";
import { customerNames, customers, nameId, type CustomerRow } from "./schema.ts";

/** Of several with the same last name, the one in the middle by first name, rounded up. */
export async function findCustomer(
  transaction: BenchTransaction,
  district: string,
  choice: CustomerChoice,
): Promise<CustomerRow> {
  if (choice.by === "number") {
    return standingRow(transaction, customers, { district, c: choice.c });
  }
  const named = await queryRows(transaction, customerNames, {
    partition: nameId(district, choice.last),
  });
  const middle = named[Math.ceil(named.length / 2) - 1];
  const { c } = standing(middle, `customer ${choice.last} in district ${district}`);
  return standingRow(transaction, customers, { district, c });
}
