// The packed `ctx-storage/simulate` under the test runners of its users.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { simulate } from '../../packages/testing/simulate/simulate.ts';
import { DurableObject } from '../../worker/realm/library/library.ts';
import { expect, test } from '../browsers/fixtures.ts';
import { LONG, ONCE, RELEASE } from '../browsers/tags.ts';
import { installPacked, npmInstall, packedFile } from '../package/installed.ts';

const JEST = 'jest@30.5.2';

/** A test that fails with the seed, unless the bank loses no money. */
const BANK = `
  import { DurableObject } from 'ctx-storage/worker';
  import { conserved, simulate } from 'ctx-storage/simulate';

  class Account extends DurableObject {
    async balance() {
      return (await this.ctx.storage.get('balance')) ?? 0;
    }
    async deposit(amount) {
      await this.ctx.storage.put('balance', (await this.balance()) + amount);
    }
  }
  class Bank extends DurableObject {
    async transfer(from, to, amount) {
      await this.env.Account.getByName(from).deposit(-amount);
      await this.env.Account.getByName(to).deposit(amount);
    }
  }
  const NAMES = ['a', 'b', 'c'];

  test('a transfer neither makes nor loses money', () =>
    simulate({ Account, Bank }, {
      setup: async ({ env }) => {
        for (const name of NAMES) await env.Account.getByName(name).deposit(100);
      },
      calls: ({ env, pick, int }) => [
        () => env.Bank.getByName('b').transfer(pick(NAMES), pick(NAMES), int(1, 100)),
      ],
      invariant: conserved(async ({ each }) => {
        const balances = await Promise.all(each('Account').map((account) => account.balance()));
        return balances.reduce((sum, balance) => sum + balance, 0);
      }),
    }));
`;

let directory: string;

test.beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'ctx-storage-simulate-'));
});
test.afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** The seed that the output of a run of failing tests names. @throws when it names none */
function seedIn(command: string, ...parameters: string[]): string {
  try {
    const env = { ...process.env, NODE_OPTIONS: '--experimental-vm-modules' };
    execFileSync(command, parameters, { cwd: directory, env, stdio: 'pipe', encoding: 'utf8' });
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    const output = stdout + stderr;
    expect(output).toMatch(/The sum is \d+, not 300/);
    const seed = /See it again with \{ seed: '(\w+)' \}/;
    expect(output).toMatch(seed);
    return seed.exec(output)![1]!;
  }
  throw new Error('The tests have passed.');
}

function writeSuite(file: string, text: string): void {
  writeFileSync(join(directory, 'package.json'), '{ "name": "app", "type": "module" }');
  writeFileSync(join(directory, file), text);
}

test('[SIMU20] the packed entry runs in node:test', { tag: [ONCE, LONG] }, async () => {
  await installPacked(directory);
  writeSuite('bank.test.mjs', `import { test } from 'node:test';${BANK}`);
  expect(seedIn(process.execPath, '--test', 'bank.test.mjs')).toMatch(/^\w+$/);
});

test('[SIMU20] Jest finds the seed that node:test finds', {
  tag: [LONG, ONCE, RELEASE],
}, async () => {
  writeSuite('bank.test.mjs', BANK);
  npmInstall(directory, JEST, await packedFile());
  const config = JSON.stringify({
    testMatch: ['**/bank.test.mjs'],
    testEnvironment: 'node',
    testTimeout: 240_000,
  });
  const inJest = seedIn('npx', 'jest', '--config', config);
  writeSuite('node.test.mjs', `import { test } from 'node:test';${BANK}`);
  expect(seedIn(process.execPath, '--test', 'node.test.mjs')).toBe(inJest);
});

class Shelf extends DurableObject {
  constructor(ctx: ConstructorParameters<typeof DurableObject>[0], env: object) {
    super(ctx as never, env as never);
    this.ctx.storage.sql.exec('CREATE TABLE IF NOT EXISTS item(name TEXT)');
  }
  put(name: string): number {
    this.ctx.storage.sql.exec('INSERT INTO item VALUES (?)', name);
    return this.ctx.storage.sql.exec('SELECT * FROM item').toArray().length;
  }
}

const SOURCE = `import { DurableObject } from 'ctx-storage/worker';

export class Shelf extends DurableObject {
  constructor(ctx: DurableObjectState, env: object) {
    super(ctx, env);
    this.ctx.storage.sql.exec('CREATE TABLE IF NOT EXISTS item(name TEXT)');
  }
  put(name: string): number {
    this.ctx.storage.sql.exec('INSERT INTO item VALUES (?)', name);
    return this.ctx.storage.sql.exec('SELECT * FROM item').toArray().length;
  }
}
`;

test('[SIMU23] [DEMO30] the playground opens the file of a failed run, with its rows and its timeline', {
  tag: [LONG, ONCE, RELEASE],
}, async ({ context, demoSite }) => {
  const file = join(directory, 'failed-run.json');
  const run = simulate(
    { Shelf },
    {
      faults: false,
      source: { 'main.ts': SOURCE },
      file,
      calls: ({ env, unique }) => [() => env.Shelf.getByName('left').put(unique())],
      invariant: ({ calls }) => expect(calls.length).toBeLessThan(3),
    },
  );
  await expect(run).rejects.toThrow('3 of its');
  const page = await context.newPage();
  await page.goto(`${demoSite.origin}/index.html`);
  await page.getByRole('button', { name: 'Share', exact: true }).click();
  const dialog = page.getByRole('dialog', { name: 'Share' });
  const input = dialog.getByLabel('Open a file that somebody saved here');
  const damaged = JSON.parse(readFileSync(file, 'utf8')) as { objects: unknown };
  damaged.objects = [{ key: 'Shelf', files: { main: 1 } }];
  const name = 'failed-run.json';
  const fileOf = (text: string) => ({
    name,
    mimeType: 'application/json',
    buffer: Buffer.from(text),
  });
  await input.setInputFiles(fileOf(JSON.stringify(damaged)));
  await expect(dialog).toContainText('its objects cannot be read');
  await input.setInputFiles(fileOf('{}'));
  await expect(dialog).toContainText('neither shared code nor a simulated run');
  await input.setInputFiles(file);
  await expect(dialog).toHaveCount(0);
  await page.getByRole('button', { name: 'Run in a sandbox' }).click();
  const rows = page.getByRole('region', { name: 'Table item', exact: true }).locator('tbody tr');
  await expect(rows).toHaveCount(3);
  const ticks = page.getByRole('region', { name: 'Time' }).locator('.ticks li');
  // The first call's commit has what the constructor wrote, too.
  await expect(ticks).toHaveText(['start', 'put()', 'put()']);
  const slider = page.getByRole('slider', { name: 'Moment' });
  await slider.press('Home');
  await slider.press('ArrowRight');
  const then = page.getByRole('region', { name: 'Table item then', exact: true });
  await expect(then.locator('tbody tr')).toHaveCount(2);
});
