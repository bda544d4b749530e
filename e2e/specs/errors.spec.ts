// Errors arrive on a page as they were thrown: class, message, code, retryable.

import type { Page } from '@playwright/test';
import { openBlank, whenLoaded } from '../browsers/blank-page.ts';
import { expect, test } from '../browsers/fixtures.ts';
import { INSECURE_HOST } from '../browsers/server.ts';
import { LONG, RELEASE, REST } from '../browsers/tags.ts';

/** An error as a page sees it. */
interface SeenError {
  readonly class: string;
  readonly name: string;
  readonly message: string;
  readonly code: unknown;
  readonly retryable: unknown;
}

/** Defines `seen(promise)` on the page: the rejection as a page sees it, or null. */
async function defineSeen(page: Page): Promise<void> {
  await page.evaluate(() => {
    window.seen = (promise) =>
      promise.then(
        () => null,
        (error) => ({
          class: error.constructor.name,
          name: error.name,
          message: error.message,
          code: error.code,
          retryable: error.retryable,
        }),
      );
  });
}

declare global {
  interface Window {
    seen(promise: Promise<unknown>): Promise<SeenError | null>;
  }
}

test('[ERR2] an error of SQLite keeps its class, code and message', async ({ storagePage }) => {
  await defineSeen(storagePage);
  const [syntax, constraint, forbidden] = await storagePage.evaluate(async () => {
    const storage = await window.api.openStorage('sql errors');
    const { sql } = storage;
    await storage.put('makes', 'the hidden table');
    await sql.exec('CREATE TABLE t (x UNIQUE); INSERT INTO t VALUES (1)').ready;
    return [
      await window.seen(sql.exec('SELECT * FROM missing').ready),
      await window.seen(sql.exec('INSERT INTO t VALUES (1)').toArray()),
      await window.seen(sql.exec('SELECT * FROM _cf_KV').ready),
    ];
  });
  expect(syntax).toMatchObject({ class: 'Error', code: 'SQL' });
  expect(syntax!.message).toContain('no such table: missing');
  expect(constraint).toMatchObject({ class: 'Error', code: 'SQL' });
  expect(constraint!.message).toContain('UNIQUE constraint failed');
  expect(forbidden).toMatchObject({ class: 'Error', code: 'SQL_FORBIDDEN' });
});

test('[ERR3] every limit is a RangeError that names the fact and the bound, and nothing is written', async ({
  storagePage,
}) => {
  await defineSeen(storagePage);
  const { errors, keys } = await storagePage.evaluate(async () => {
    const storage = await window.api.openStorage('limits');
    await storage.put('key', 'old');
    const longKey = 'é'.repeat(1025);
    const large = new Uint8Array(131_073);
    const many = Array.from({ length: 129 }, (_, i) => `k${i}`);
    const errors = {
      key: await window.seen(storage.put(longKey, 1)),
      value: await window.seen(storage.put('key', large)),
      entries: await window.seen(storage.put({ fine: 1, large })),
      pairs: await window.seen(storage.put(Object.fromEntries(many.map((key) => [key, 1])))),
      get: await window.seen(storage.get(many)),
      delete: await window.seen(storage.delete(many)),
      kvKey: await window.seen(storage.kv.put(longKey, 1)),
      kvValue: await window.seen(storage.kv.put('key', large)),
    };
    return { errors, keys: [...(await storage.list())] };
  });
  const code = (name: keyof typeof errors) => errors[name]?.code;
  for (const error of Object.values(errors)) {
    expect(error).toMatchObject({ class: 'RangeError', name: 'RangeError' });
  }
  expect([code('key'), code('kvKey')]).toEqual(['KEY_TOO_LARGE', 'KEY_TOO_LARGE']);
  expect(errors.key!.message).toMatch(/2050 .*2048/);
  expect([code('value'), code('entries'), code('kvValue')]).toEqual(
    Array(3).fill('VALUE_TOO_LARGE'),
  );
  expect(errors.value!.message).toMatch(/131072/);
  expect([code('pairs'), code('get'), code('delete')]).toEqual(Array(3).fill('TOO_MANY_KEYS'));
  expect(errors.get!.message).toMatch(/129 .*128/);
  expect(keys).toEqual([['key', 'old']]);
});

test('[ERR3] the largest key, value and number of keys are taken', { tag: REST }, async ({
  storagePage,
}) => {
  const seen = await storagePage.evaluate(async () => {
    const storage = await window.api.openStorage('largest');
    const keys = Array.from({ length: 128 }, (_, i) => `k${i}`);
    await storage.put(Object.fromEntries(keys.map((key) => [key, 1])));
    const longest = 'é'.repeat(1024);
    await storage.put(longest, 'of 2,048 bytes');
    const bytes = Uint8Array.from({ length: 131_072 }, (_, i) => i % 251);
    const text = 'x'.repeat(131_072);
    await storage.put({ bytes, text });
    const [largest, largestText] = [
      await storage.get<Uint8Array>('bytes'),
      await storage.get('text'),
    ];
    return {
      longest: await storage.get(longest),
      isWhole: largest!.length === 131_072 && largest!.every((byte, i) => byte === i % 251),
      isTextWhole: largestText === text,
      read: (await storage.get(keys)).size,
      deleted: await storage.delete(keys),
    };
  });
  expect(seen).toEqual({
    longest: 'of 2,048 bytes',
    isWhole: true,
    isTextWhole: true,
    read: 128,
    deleted: 128,
  });
});

test('[ERR5] a value that cannot be cloned is a DataCloneError, and the old value stays', {
  tag: REST,
}, async ({ storagePage }) => {
  await defineSeen(storagePage);
  const { errors, entries } = await storagePage.evaluate(async () => {
    const storage = await window.api.openStorage('clone');
    await storage.put('key', 'old');
    const errors = [
      await window.seen(storage.put('key', () => {})),
      await window.seen(storage.put({ other: 1, key: Symbol('x') })),
      await window.seen(storage.put('key', document.body)),
    ];
    return { errors, entries: [...(await storage.list())] };
  });
  for (const error of errors) {
    expect(error).toMatchObject({ class: 'DOMException', name: 'DataCloneError' });
  }
  expect(entries).toEqual([['key', 'old']]);
});

test('[ERR5] a wrong argument is a TypeError, and a symbol is no key', { tag: REST }, async ({
  storagePage,
}) => {
  await defineSeen(storagePage);
  const errors = await storagePage.evaluate(async () => {
    const storage = await window.api.openStorage('arguments');
    return [
      await window.seen(storage.get(Symbol('x') as unknown as string)),
      await window.seen(storage.setAlarm(Number.NaN)),
      await window.seen(storage.list({ start: 'a', startAfter: 'b' })),
    ];
  });
  for (const error of errors) {
    expect(error).toMatchObject({ class: 'TypeError', code: 'INVALID_ARGUMENT' });
  }
});

test('[ERR5] transactionSync throws at once and names its replacement', { tag: REST }, async ({
  storagePage,
}) => {
  const seen = await storagePage.evaluate(async () => {
    const storage = await window.api.openStorage('transactionSync');
    try {
      storage.transactionSync(() => 1);
    } catch (error) {
      const { name, code, message } = error as Error & { code: string };
      return { name, code, message };
    }
    return null;
  });
  expect(seen).toMatchObject({ name: 'TypeError', code: 'NOT_ON_PAGE' });
  expect(seen!.message).toContain('transaction(');
});

test('[ERR6] abort resets the object: pending calls reject as retryable, and it works again', async ({
  storagePage,
}) => {
  await defineSeen(storagePage);
  const { error, value } = await storagePage.evaluate(async () => {
    const storage = await window.api.openStorage('abort');
    await storage.put('key', 'old');
    const error = await window.seen(
      storage.transaction(async (txn) => {
        await txn.put('key', 'new');
        await storage.abort('enough');
        await txn.get('key');
      }),
    );
    return { error, value: await storage.get('key') };
  });
  expect(error).toMatchObject({ class: 'Error', code: 'OBJECT_RESET', retryable: true });
  expect(value).toBe('old');
});

test('[ERR6] a closed handle rejects every call, and the data stays', { tag: REST }, async ({
  storagePage,
}) => {
  await defineSeen(storagePage);
  const { error, value } = await storagePage.evaluate(async () => {
    const storage = await window.api.openStorage('closed');
    await storage.put('key', 1);
    await storage.close();
    const error = await window.seen(storage.get('key'));
    return { error, value: await (await window.api.openStorage('closed')).get('key') };
  });
  expect(error).toMatchObject({ code: 'CONNECTION_CLOSED' });
  expect(value).toBe(1);
});

test('[ERR4] an insecure page gets INSECURE_CONTEXT', async ({ context, sharedServer }) => {
  const page = await context.newPage();
  // The host exists in this test alone; any http host but localhost is insecure.
  const insecure = `http://${INSECURE_HOST}`;
  await page.route(`${insecure}/**`, async (route) => {
    const url = route.request().url().replace(insecure, sharedServer.origin);
    await route.fulfill({ response: await route.fetch({ url }) });
  });
  await page.goto(`${insecure}/e2e/specs/pages/blank.html`);
  await whenLoaded(page);
  await defineSeen(page);
  expect(await page.evaluate(() => window.isSecureContext)).toBe(false);
  const error = await page.evaluate(() => window.seen(window.api.openStorage('insecure')));
  expect(error).toMatchObject({ class: 'Error', code: 'INSECURE_CONTEXT' });
  expect(error!.message).toContain('https');
});

for (const missing of [
  'StorageManager.prototype.getDirectory',
  'FileSystemFileHandle.prototype.createSyncAccessHandle',
]) {
  test(`[MEDIUM2] without ${missing} a new directory is kept in IndexedDB, and a directory on OPFS is OPFS_UNAVAILABLE`, {
    tag: missing.endsWith('getDirectory') ? LONG : [LONG, RELEASE],
  }, async ({ context, server }) => {
    const before = await openBlank(await context.newPage(), server);
    await before.evaluate(async () => {
      await (await window.api.openStorage('a')).put('key', 'kept');
    });
    await before.close();
    const page = await context.newPage();
    await page.addInitScript(removeFromWorkers, [missing]);
    await openBlank(page, server);
    await defineSeen(page);
    const { error, medium } = await page.evaluate(async () => {
      const error = await window.seen(window.api.openStorage('a'));
      const storage = await window.api.openStorage('a', { directory: 'new' });
      await storage.put('key', 'new');
      return { error, medium: storage.medium };
    });
    expect(error).toMatchObject({ class: 'Error', code: 'OPFS_UNAVAILABLE' });
    expect(medium).toBe('indexeddb');
    await page.close();
    // With handles, each directory stays where it is.
    const after = await openBlank(await context.newPage(), server);
    const found = await after.evaluate(async () => {
      const [old, later] = [
        await window.api.openStorage('a'),
        await window.api.openStorage('a', { directory: 'new' }),
      ];
      return [old.medium, await old.get('key'), later.medium, await later.get('key')];
    });
    expect(found).toEqual(['opfs', 'kept', 'indexeddb', 'new']);
  });
}

test('[ERR4] without synchronous handles and IndexedDB the error is OPFS_UNAVAILABLE', async ({
  context,
  server,
}) => {
  const page = await context.newPage();
  const members = ['StorageManager.prototype.getDirectory', 'IDBFactory.prototype.open'];
  await page.addInitScript(removeFromWorkers, members);
  await openBlank(page, server);
  await defineSeen(page);
  const error = await page.evaluate(() => window.seen(window.api.openStorage('nothing')));
  expect(error).toMatchObject({ class: 'Error', code: 'OPFS_UNAVAILABLE' });
});

test('[MEDIUM3] a medium that was asked for is used or refused, and memory is used by nobody who did not ask', {
  tag: REST,
}, async ({ context, server }) => {
  const one = await openBlank(await context.newPage(), server);
  await defineSeen(one);
  const asked = await one.evaluate(async () => {
    const { openStorage } = window.api;
    const memory = await openStorage('a', { directory: 'forgotten', medium: 'memory' });
    await memory.put('key', 'in memory');
    const opfs = await openStorage('a', { directory: 'on opfs' });
    await opfs.put('key', 1);
    return {
      media: [memory.medium, opfs.medium],
      differs: await window.seen(openStorage('a', { directory: 'on opfs', medium: 'indexeddb' })),
      unknown: await window.seen(openStorage('a', { medium: 'disk' as 'opfs' })),
    };
  });
  expect(asked.media).toEqual(['memory', 'opfs']);
  expect(asked.differs).toMatchObject({ code: 'INVALID_ARGUMENT' });
  expect(asked.unknown).toMatchObject({ class: 'TypeError', code: 'INVALID_ARGUMENT' });

  const two = await openBlank(await context.newPage(), server);
  await defineSeen(two);
  const refused = await two.evaluate(async () => ({
    memory: await window.seen(window.api.openStorage('a', { directory: 'forgotten' })),
    opfs: await window.seen(
      window.api.openStorage('a', { directory: 'on opfs', medium: 'indexeddb' }),
    ),
  }));
  expect(refused.memory).toMatchObject({ class: 'Error', code: 'MEDIUM_CONFLICT' });
  expect(refused.opfs).toMatchObject({ class: 'Error', code: 'MEDIUM_CONFLICT' });
  await two.close();
  await one.close();

  const three = await openBlank(await context.newPage(), server);
  await defineSeen(three);
  const later = await three.evaluate(async () => {
    const { openStorage } = window.api;
    const kept = await openStorage('a', { directory: 'forgotten' });
    return {
      kept: [kept.medium, await kept.get('key')],
      opfs: await window.seen(openStorage('a', { directory: 'on opfs', medium: 'indexeddb' })),
    };
  });
  expect(later.kept).toEqual(['opfs', undefined]);
  expect(later.opfs).toMatchObject({ code: 'MEDIUM_CONFLICT' });
});

// Runs on the page before its scripts: every worker begins by deleting the members. The order of
// imports is kept, and messages wait until the worker's module has run.
function removeFromWorkers(members: readonly string[]): void {
  const NativeWorker = window.Worker;
  window.Worker = class extends NativeWorker {
    constructor(address: string | URL, options?: WorkerOptions) {
      const deletions = members.map((member) => `delete ${member}`).join(';');
      const remove = `data:text/javascript,${deletions}`;
      const url = new URL(address, location.href).href;
      const source = `import ${JSON.stringify(remove)}; import ${JSON.stringify(url)};`;
      const blob = new Blob([source], { type: 'text/javascript' });
      super(URL.createObjectURL(blob), { ...options, type: 'module' });
    }
  };
}
