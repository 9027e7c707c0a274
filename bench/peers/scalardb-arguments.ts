/** What the ScalarDB peer is asked to do, and how its command line says it. */

export type ScalarDbOptions = {
  /** Where DynamoDB answers. */
  readonly endpoint: string;
  readonly region?: string;
  /** `ycsb-a` … `ycsb-f`, `ycsb-ph1`, `hot-row`, `u1`, `u4`, `u20`, `contention-N` or `tpcc`. */
  readonly workload: string;
  /** Drops, makes and fills the tables first. */
  readonly load: boolean;
  readonly run: boolean;
  /** Threads. */
  readonly concurrency?: number;
  readonly seconds?: number;
  readonly warmUpSeconds?: number;
  /** Transactions per second over all threads; without it, a closed loop. */
  readonly rate?: number;
  readonly seed?: number;
  /** After the measured phase, to price writes by DynamoDB's rule; 50 unless said otherwise. */
  readonly sampleTransactions?: number;
  readonly attemptsMax?: number;
  readonly deadlineMs?: number;
  /** `tuned` unless said otherwise; see the README. */
  readonly profile?: "tuned" | "plain";
  /** Any property of ScalarDB. */
  readonly properties?: Readonly<Record<string, string>>;
  readonly ycsb?: {
    readonly rows?: number;
    readonly fields?: number;
    readonly fieldBytes?: number;
    readonly bucketRows?: number;
    readonly scanRowsMax?: number;
    readonly distribution?: "uniform" | "zipfian" | "latest";
  };
  readonly tpcc?: {
    readonly warehouses?: number;
    readonly customersPerDistrict?: number;
    readonly items?: number;
    /** Weights by kind of transaction. */
    readonly mix?: Readonly<Record<string, number>>;
  };
};

export function scalarDbArguments(options: ScalarDbOptions): readonly string[] {
  const { ycsb = {}, tpcc = {}, properties = {} } = options;
  return [
    ...option("endpoint", options.endpoint),
    ...option("region", options.region),
    ...option("workload", options.workload),
    ...(options.load ? ["--load"] : []),
    ...(options.run ? ["--run"] : []),
    ...option("concurrency", options.concurrency),
    ...option("seconds", options.seconds),
    ...option("warm-up-seconds", options.warmUpSeconds),
    ...option("rate", options.rate),
    ...option("seed", options.seed),
    ...option("sample-transactions", options.sampleTransactions),
    ...option("attempts-max", options.attemptsMax),
    ...option("deadline-ms", options.deadlineMs),
    ...option("profile", options.profile),
    ...Object.entries(properties).flatMap(([name, value]) =>
      option("property", `${name}=${value}`),
    ),
    ...option("rows", ycsb.rows),
    ...option("fields", ycsb.fields),
    ...option("field-bytes", ycsb.fieldBytes),
    ...option("bucket-rows", ycsb.bucketRows),
    ...option("scan-rows-max", ycsb.scanRowsMax),
    ...option("distribution", ycsb.distribution),
    ...option("warehouses", tpcc.warehouses),
    ...option("customers-per-district", tpcc.customersPerDistrict),
    ...option("items", tpcc.items),
    ...option("mix", mixText(tpcc.mix)),
  ];
}

function option(name: string, value: string | number | undefined): readonly string[] {
  return value === undefined ? [] : [`--${name}`, value.toString()];
}

function mixText(mix: Readonly<Record<string, number>> | undefined): string | undefined {
  if (mix === undefined) return undefined;
  return Object.entries(mix)
    .map(([kind, weight]) => `${kind}=${weight.toString()}`)
    .join(",");
}
