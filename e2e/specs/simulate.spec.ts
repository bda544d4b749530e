// The packed `ctx-storage/simulate` under the test runners of its users.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '../browsers/fixtures.ts';
import { LONG, ONCE } from '../browsers/tags.ts';
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

/** The seed that the output of a run of failing tests names. */
function seedIn(command: string, ...parameters: string[]): string | undefined {
  try {
    const env = { ...process.env, NODE_OPTIONS: '--experimental-vm-modules' };
    execFileSync(command, parameters, { cwd: directory, env, stdio: 'pipe', encoding: 'utf8' });
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    const output = stdout + stderr;
    expect(output).toMatch(/The sum is \d+, not 300/);
    return /See it again with \{ seed: '(\w+)' \}/.exec(output)?.[1];
  }
  throw new Error('The tests have passed.');
}

function writeSuite(file: string, text: string): void {
  writeFileSync(join(directory, 'package.json'), '{ "name": "app", "type": "module" }');
  writeFileSync(join(directory, file), text);
}

test('[SIMU20] the packed entry runs in node:test', { tag: ONCE }, async () => {
  await installPacked(directory);
  writeSuite('bank.test.mjs', `import { test } from 'node:test';${BANK}`);
  expect(seedIn(process.execPath, '--test', 'bank.test.mjs')).toMatch(/^\w+$/);
});

test('[SIMU20] Jest finds the seed that node:test finds', { tag: [LONG, ONCE] }, async () => {
  writeSuite('bank.test.mjs', BANK);
  npmInstall(directory, JEST, await packedFile());
  const config = JSON.stringify({ testMatch: ['**/bank.test.mjs'], testEnvironment: 'node' });
  const inJest = seedIn('npx', 'jest', '--config', config);
  writeSuite('node.test.mjs', `import { test } from 'node:test';${BANK}`);
  expect(seedIn(process.execPath, '--test', 'node.test.mjs')).toBe(inJest);
});
