/** The shop's data as ElectroDB has it: four entities in one table, and a service over them. */
import type { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import { Entity, Service } from "electrodb";

export const shopTable = "electrodb-orders";

const model = (entity: string) => ({ entity, version: "1", service: "shop" });

type Where = { readonly client: DynamoDBDocumentClient; readonly table: string };

export function shopOf(client: DynamoDBDocumentClient) {
  const where: Where = { client, table: shopTable };
  return new Service({ ...customersOf(where), ...goodsOf(where) }, where);
}

export type Shop = ReturnType<typeof shopOf>;

function customersOf(where: Where) {
  const customer = new Entity(
    {
      model: model("customer"),
      attributes: {
        customerId: { type: "string", required: true },
        email: { type: "string", required: true },
        openOrders: { type: "number", required: true, default: 0 },
      },
      indexes: {
        byId: {
          collection: "account",
          pk: { field: "pk", composite: ["customerId"] },
          sk: { field: "sk", composite: [] },
        },
      },
    },
    where,
  );
  /** Whose an address is: one item for each address, which is what makes it unique. */
  const email = new Entity(
    {
      model: model("email"),
      attributes: {
        email: { type: "string", required: true },
        customerId: { type: "string", required: true },
      },
      indexes: {
        byEmail: {
          pk: { field: "pk", composite: ["email"] },
          sk: { field: "sk", composite: [] },
        },
      },
    },
    where,
  );
  return { customer, email };
}

function goodsOf(where: Where) {
  const stock = new Entity(
    {
      model: model("stock"),
      attributes: {
        article: { type: "string", required: true },
        count: { type: "number", required: true },
        cents: { type: "number", required: true },
      },
      indexes: {
        byArticle: {
          pk: { field: "pk", composite: ["article"] },
          sk: { field: "sk", composite: [] },
        },
      },
    },
    where,
  );
  const order = new Entity(
    {
      model: model("order"),
      attributes: {
        customerId: { type: "string", required: true },
        orderId: { type: "string", required: true },
        lines: {
          type: "list",
          required: true,
          items: {
            type: "map",
            properties: {
              article: { type: "string", required: true },
              count: { type: "number", required: true },
            },
          },
        },
        cents: { type: "number", required: true },
        state: { type: ["open", "cancelled"] as const, required: true },
      },
      indexes: {
        ofCustomer: {
          collection: "account",
          pk: { field: "pk", composite: ["customerId"] },
          sk: { field: "sk", composite: ["orderId"] },
        },
      },
    },
    where,
  );
  return { stock, order };
}
