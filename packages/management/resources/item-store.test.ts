// Tests that the cost of a creation does not depend on how many zones or records exist.

import { expect, test } from 'vitest';
import type { DurableObjectState } from '../../../src/shared/contract/object.ts';
import type { DurableObjectStorage } from '../../../src/shared/contract/storage.ts';
import { createObjects, DurableObject } from '../../../worker/start/entries/node-objects.ts';
import type { RoutedCall } from '../call/call.ts';
import { createRecord } from './dns-records.ts';
import { ItemStore } from './item-store.ts';
import { createZone } from './zones.ts';

const ACCOUNT = { id: 'a', name: 'First', type: 'standard', createdOn: '2024-01-01' };
const ZONE = { ...ACCOUNT, name: 'of.example', accountId: 'a', accountName: 'First' };
const COUNTS = [10, 100];

/** Creates zones and records, and reports how many rows the creation after 10 and after 100 others reads. */
class Counting extends DurableObject {
  readonly #store: ItemStore;
  #rowsRead: (() => number)[] = [];

  constructor(ctx: DurableObjectState, env: unknown) {
    super(ctx as never, env);
    const { storage } = ctx;
    const sql = {
      exec: (...statement: Parameters<DurableObjectStorage['sql']['exec']>) => {
        const cursor = storage.sql.exec(...statement);
        this.#rowsRead.push(() => cursor.rowsRead);
        return cursor;
      },
    };
    const { kv } = storage;
    this.#store = new ItemStore({ sql, kv } as unknown as DurableObjectStorage);
    this.#store.collection('accounts').insert(ACCOUNT);
  }

  fetch(): Response {
    return Response.json({
      zone: this.#costs((i) => createZone(this.#store, call(i, { name: `z${i}.example` }))),
      record: this.#costs((i) =>
        createRecord(this.#store, call(i, { type: 'A', name: `h${i}`, content: '192.0.2.1' })),
      ),
      twin: this.#costs((i) =>
        createRecord(this.#store, call(i, { type: 'TXT', name: '@', content: `"${i}"` }, 'twin')),
      ),
    });
  }

  #costs(create: (index: number) => unknown): number[] {
    let next = 0;
    return COUNTS.map((count) => {
      while (next < count) create(next++);
      this.#rowsRead = [];
      create(next++);
      return this.#rowsRead.reduce((sum, rows) => sum + rows(), 0);
    });
  }
}

function call(index: number, body: object, prefix = ''): RoutedCall {
  const at = { nowIso: '2024-01-01T00:00:00Z', ids: [`${prefix}${index}`] };
  const rest = { query: {}, params: {}, admitted: [], zone: ZONE };
  return { method: 'POST', path: '', ...at, ...rest, body };
}

test('[MG51] a creation reads as many rows beside 100 zones or records as beside 10', async () => {
  const objects = await createObjects({ Counting });
  const answer = await objects.env.Counting.getByName('one').fetch('https://object/');
  const costs: Record<string, number[]> = await answer.json();
  await objects.close();
  for (const [few, many] of Object.values(costs)) {
    expect(many).toBe(few);
    expect(many).toBeGreaterThan(0);
  }
  expect(Object.keys(costs)).toEqual(['zone', 'record', 'twin']);
});
