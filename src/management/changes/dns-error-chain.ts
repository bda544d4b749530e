// Until 2024-10-01 an invalid DNS record is refused with code 1004, and the cause is in `error_chain`.

import type { Answer } from '../call/call.ts';
import { ERRORS, type ErrorEntry } from '../call/error-codes.ts';

import type { Change } from './change.ts';

const FORM_CODES: ReadonlySet<number> = new Set(
  [
    ERRORS.RECORD_NAME,
    ERRORS.RECORD_TYPE,
    ERRORS.RECORD_FIELD,
    ERRORS.RECORD_CONTENT,
    ERRORS.RECORD_TTL,
    ERRORS.RECORD_DATA,
    ERRORS.SRV_FIELD_REFUSED,
  ].map(({ code }) => code),
);

export const dnsErrorChain: Change = {
  id: 'dns-validation-error-chain',
  response: (answer) =>
    isInvalidRecord(answer) ? { ...answer, errors: [wrap(answer.errors)] } : answer,
};

function isInvalidRecord({ errors }: Answer): boolean {
  return errors.length > 0 && errors.every(({ code }) => FORM_CODES.has(code));
}

function wrap(causes: readonly ErrorEntry[]): ErrorEntry {
  const { code } = ERRORS.DNS_VALIDATION;
  return { code, message: 'DNS Validation Error', error_chain: causes };
}
