import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { deserialize } from '../values/decode.ts';
import { serialize } from '../values/encode.ts';
import { ERROR_CODES, isStorageError, type StorageErrorCode, storageError } from './errors.ts';

const CODES = Object.keys(ERROR_CODES) as StorageErrorCode[];

describe('an error of this package', () => {
  test.for(CODES)('[ERR1] %s has the class and the facts of the table', (code) => {
    const cause = new Error('beneath');
    const error = storageError(code, 'why', { cause });
    const { class: name, retryable } = ERROR_CODES[code] as { class: string; retryable?: boolean };
    expect(error.constructor.name).toBe(name);
    expect(error).toMatchObject({ code, message: 'why', cause });
    expect(error.retryable ?? false).toBe(retryable ?? false);
    expect(isStorageError(error)).toBe(true);
  });

  test('[ERR1] each code has a row in docs/errors.md, as the table has it, and a way out', () => {
    const document = readFileSync(new URL('../../../docs/errors.md', import.meta.url), 'utf8');
    const rows = [...document.matchAll(/^`(\w+)`(?: (\w+))?(, retryable)? \| (.*) \| (.{20,})$/gm)];
    const documented = rows.map(([, code, name = 'Error', retryable, meaning]) => {
      return [code, name, retryable !== undefined, meaning];
    });
    const known = CODES.map((code) => {
      const facts: { class: string; meaning: string; retryable?: boolean } = ERROR_CODES[code];
      return [code, facts.class, facts.retryable ?? false, facts.meaning];
    });
    expect(documented).toEqual(known);
  });

  test('[ERR1] its facts do not show when it is listed, and are kept when it is stored', () => {
    const error = storageError('OBJECT_RESET', 'why');
    expect(Object.keys(error)).toEqual([]);
    expect(error.durableObjectReset).toBe(true);
    expect(deserialize(serialize(error))).toMatchObject({ code: 'OBJECT_RESET' });
  });

  test('[ERR1] other errors are not storage errors, whatever they carry', () => {
    const foreign = Object.assign(new Error('x'), { code: 'ENOENT' });
    expect([foreign, { code: 'IO' }, null, 'IO'].map(isStorageError)).toEqual(Array(4).fill(false));
  });
});
