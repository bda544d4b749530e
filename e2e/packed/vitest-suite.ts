// A project with tests of its Worker, as its author writes them.

export const SOURCE = `
import { DurableObject } from 'cloudflare:workers';
export class Room extends DurableObject {
  async count() { const n = ((await this.ctx.storage.get<number>('n')) ?? 0) + 1; await this.ctx.storage.put('n', n); return n; }
  async wake() { await this.ctx.storage.setAlarm(Date.now() + 60_000); }
  async alarm() { await this.ctx.storage.put('rang', true); }
  async rang() { return (await this.ctx.storage.get('rang')) ?? false; }
}
export default {
  async fetch(request: Request, env: any, ctx: any) {
    ctx.waitUntil(env.CACHE.put('seen', new URL(request.url).pathname));
    return new Response(\`hello \${await env.ROOM.getByName('a').count()}\`);
  },
  async scheduled(event: any, env: any, ctx: any) { ctx.waitUntil(env.CACHE.put('cron', event.cron)); },
  async queue(batch: any) { for (const m of batch.messages) if (m.body === 'bad') m.retry(); else m.ack(); },
};
`;

export const TESTS = {
  'test/worker.test.ts': `
import { createExecutionContext, createMessageBatch, createScheduledController, env, getQueueResult, listDurableObjectIds, objects, runDurableObjectAlarm, runInDurableObject, SELF, waitOnExecutionContext, applyD1Migrations, reset } from 'cloudflare:test';
import { env as workerEnv, exports } from 'cloudflare:workers';
import { expect, it } from 'vitest';
import worker, { Room } from '../src';

it('[VT1] a handler that the test calls gets env and ctx', async () => {
  const ctx = createExecutionContext();
  const response = await worker.fetch(new Request('http://x/unit'), env, ctx);
  await waitOnExecutionContext(ctx);
  expect(await response.text()).toBe('hello 1');
  expect(await env.CACHE.get('seen')).toBe('/unit');
});
it('[VT1] SELF and exports reach the worker, env of both modules its members', async () => {
  expect(await (await SELF.fetch('http://x/self')).text()).toBe('hello 2');
  expect(await (await exports.default.fetch('http://x/self')).text()).toBe('hello 3');
  expect(await workerEnv.CACHE.get('seen')).toBe('/self');
});
it('[VT2] runInDurableObject, listDurableObjectIds, runDurableObjectAlarm', async () => {
  const stub = env.ROOM.getByName('b');
  expect(await stub.count()).toBe(1);
  await runInDurableObject(stub, async (instance: Room, state) => {
    expect(instance).toBeInstanceOf(Room);
    expect(await state.storage.get('n')).toBe(1);
  });
  const ids = await listDurableObjectIds(env.ROOM);
  expect(ids.some((id) => id.equals(stub.id))).toBe(true);
  expect(await runDurableObjectAlarm(stub)).toBe(false);
  await stub.wake();
  expect(await runDurableObjectAlarm(stub)).toBe(true);
  expect(await stub.rang()).toBe(true);
});
it('[VT3] the clock of the objects reaches alarms', async () => {
  const stub = env.ROOM.getByName('c');
  await stub.wake();
  await objects.clock.advance(61_000);
  expect(await stub.rang()).toBe(true);
});
it('[VT2] a scheduled event, a batch and its result', async () => {
  const ctx = createExecutionContext();
  await worker.scheduled(createScheduledController({ cron: '* * * * *' }), env, ctx);
  await waitOnExecutionContext(ctx);
  expect(await env.CACHE.get('cron')).toBe('* * * * *');
  const batch = createMessageBatch('jobs', [{ id: '1', timestamp: new Date(), attempts: 1, body: 'good' }, { id: '2', timestamp: new Date(), attempts: 1, body: 'bad' }]);
  await worker.queue(batch);
  const result = await getQueueResult(batch, ctx);
  expect(result.explicitAcks).toEqual(['1']);
  expect(result.retryMessages.map(({ msgId }) => msgId)).toEqual(['2']);
  expect((await SELF.scheduled({ cron: 'x' })).outcome).toBe('ok');
});
it('[VT2] migrations of a D1 database', async () => {
  await applyD1Migrations(env.DB, [{ name: '0001', queries: ['CREATE TABLE item(name TEXT)'] }]);
  await env.DB.prepare('INSERT INTO item VALUES (?)').bind('x').run();
  expect(await env.DB.prepare('SELECT count(*) AS n FROM item').first('n')).toBe(1);
});
it('[VT2] reset deletes all objects', async () => { await reset(); expect(await env.ROOM.getByName('a').count()).toBe(1); });
`,
  'test/other.test.ts': `
import { env } from 'cloudflare:test';
import { expect, it } from 'vitest';
it('[VT1] no file sees the objects of another', async () =>
  expect(await env.ROOM.getByName('b').count()).toBe(1));
`,
} as const;
