// Runs the emulated provider in a page: its objects run in the page's own worker, and its data is in OPFS.

import { connect } from '../../../src/index.ts';
import { createManagementApi, installFetch } from '../index.ts';
import { runScenario, SCENARIO_ACCOUNT, scenarioOptions } from './scenario.ts';
import type { Classes } from './worker.ts';

async function namespace() {
  const { env } = await connect<Classes>(
    () => new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' }),
  );
  return env.ManagementObject;
}

/** Runs the scenario in this page, and returns its transcript. */
export async function transcript(): Promise<readonly string[]> {
  const api = createManagementApi({ ...scenarioOptions(), namespace: await namespace() });
  return runScenario(api.fetch);
}

/** Calls this page's `fetch` with addresses below the provider's, and returns the answers. */
export async function fetchAnswers(
  calls: readonly { readonly operation: string; readonly body?: unknown }[],
): Promise<unknown[]> {
  const accounts = [{ id: SCENARIO_ACCOUNT, name: 'First' }];
  const api = createManagementApi({ namespace: await namespace(), accounts });
  const remove = installFetch(api, 'https://api.example/client/v4');
  const answers: unknown[] = [];
  for (const { operation, body } of calls) {
    const [method, path] = operation.split(' ') as [string, string];
    const init = { method, ...(body !== undefined && { body: JSON.stringify(body) }) };
    const response = await fetch(`https://api.example/client/v4${path}`, init);
    answers.push(await response.json());
  }
  remove();
  return answers;
}
