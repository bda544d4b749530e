// Finds out whether a test file mocks modules. If it does, the Worker is imported after the file, because Vitest
// applies mocks only to imports that come after them.

import { readFileSync } from 'node:fs';
import { storageError } from '@ctx-storage/core/errors';

const MOCKING = /\b(?:vi|vitest)\s*\.\s*(?:mock|doMock)\s*\(/;

/** True if the text of one of the files mocks a module. Missing files have no text. */
export function callsMock(paths: readonly (string | undefined)[]): boolean {
  return paths.some((path) => path !== undefined && MOCKING.test(textOf(path)));
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** The members of Vitest's mocker that this file uses; the second name is that of Vitest 3. */
interface Mocker {
  getMockerRegistry?(): { keys(): Iterable<string> };
  readonly registry?: { keys(): Iterable<string> };
}

/**
 * Checks that no mocks are registered.
 *
 * @throws INVALID_ARGUMENT if modules are mocked that the Worker has imported already
 */
export function mustHaveNoMocks(): void {
  const { __vitest_mocker__: mocker } = globalThis as { __vitest_mocker__?: Mocker };
  const mocked = [...((mocker?.getMockerRegistry?.() ?? mocker?.registry)?.keys() ?? [])];
  if (mocked.length === 0) return;
  throw storageError(
    'INVALID_ARGUMENT',
    `vi.mock() of ${mocked.join(', ')} comes too late: it is neither in the test file nor in a setup file, so the Worker was ` +
      'imported before. Call vi.mock() in the test file.',
  );
}
