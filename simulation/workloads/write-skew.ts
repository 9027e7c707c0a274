/**
 * Doctors on call: of two in each ward at least one, and either may leave after a look at both.
 * Serializable transactions keep that; snapshot transactions, which check only what they write,
 * must be seen to break it now and then.
 */
import { defineTable } from "../../sdk/index.ts";
import { testTable } from "../../testing/test-tables.ts";
import { numbered, sumOf } from "./key-spaces.ts";
import { WorkloadFinding, type Snapshot, type WorkloadFactory } from "./workload.ts";

type ShiftKey = { readonly ward: string; readonly doctor: number };
const shifts = defineTable<{ readonly onCall: number }, ShiftKey, "ward">("shifts", {
  key: ["ward", "doctor"],
});
const doctors = [0, 1] as const;
type Way = "get" | "batchGet" | "query";

export const writeSkew: WorkloadFactory = ({ keys, history, isolation: planned }) => {
  const wards = numbered("ward", Math.max(2, Math.floor(keys / 2)));
  const mustHold = planned === "serializable";
  let skewed = 0;

  const onCallIn = async (reader: Pick<Snapshot, Way>, ward: string, way: Way): Promise<number> => {
    const onCall = sumOf(await shiftsOf(reader, ward, way));
    if (onCall === 0 && mustHold) throw new WorkloadFinding(`nobody is on call in ${ward}`);
    return onCall;
  };

  return {
    tables: [
      testTable("shifts", {
        partitionKey: "ward",
        sortKey: { name: "doctor", type: "N" },
        history,
      }),
    ],
    universe: wards.flatMap((ward) =>
      doctors.map((doctor) => ({
        table: "shifts",
        key: { ward: { S: ward }, doctor: { N: doctor.toString() } },
      })),
    ),
    async setUp(client) {
      await client.transact(async (tx) => {
        for (const ward of wards) {
          for (const doctor of doctors) tx.put(shifts, { ward, doctor, onCall: 1 });
        }
        return Promise.resolve();
      });
    },
    async step({ client, random, isolation, pause }) {
      const ward = random.pick(wards);
      const doctor = random.pick(doctors);
      const way = random.pick<Way>(["get", "batchGet", "query"]);
      const lingersMs = random.chance(0.5) ? random.between(1, 200) : 0;
      const { result } = await client.transact({ isolation }, async (tx) => {
        const onCall = await onCallIn(tx, ward, way);
        if (lingersMs > 0) await pause(lingersMs);
        tx.put(shifts, { ward, doctor, onCall: onCall === doctors.length ? 0 : 1 });
        return onCall;
      });
      if (result === 0) skewed += 1;
    },
    async judge(client) {
      const counts = await client.snapshot((snapshot) =>
        Promise.all(wards.map(async (ward) => sumOf(await shiftsOf(snapshot, ward, "query")))),
      );
      const empty = wards.filter((_ward, index) => counts[index] === 0);
      if (!mustHold) skewed += empty.length;
      return mustHold ? empty.map((ward) => `nobody is on call in ${ward}`) : [];
    },
    observations: () => ({ "write-skew": skewed }),
  };
};

async function shiftsOf(
  reader: Pick<Snapshot, Way>,
  ward: string,
  way: Way,
): Promise<readonly number[]> {
  const keysOfWard = doctors.map((doctor) => ({ ward, doctor }));
  const rows =
    way === "query"
      ? await reader.query(shifts, { where: { ward } }).all()
      : way === "batchGet"
        ? await reader.batchGet(shifts, keysOfWard)
        : await Promise.all(keysOfWard.map((key) => reader.get(shifts, key)));
  return rows.map((row) => row?.onCall ?? 0);
}
