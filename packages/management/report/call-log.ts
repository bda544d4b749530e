// Keeps the recorded calls, and makes the report on them.
//
// Bodies may still be arriving when the report is requested; the report waits for them.

import { messageOf } from './finding-text.ts';
import type { RecordedCall } from './recorded-call.ts';
import { type Finding, failuresOf, type Report, type ReportOptions, reportOf } from './report.ts';

export interface AssertOptions extends ReportOptions {
  /** Whether findings of the level `note` count, too. @default false */
  readonly strict?: boolean;
}

/** Thrown if a client uses deprecated operations or fields; the message lists them. */
export class DeprecatedCallsError extends Error {
  readonly findings: readonly Finding[];

  constructor(at: string, findings: readonly Finding[]) {
    const list = findings.map((finding) => `  ${messageOf(finding)} (${finding.count}x)`);
    super([`Deprecated or gone on ${at}, and in how many calls:`, ...list].join('\n'));
    this.name = 'DeprecatedCallsError';
    this.findings = findings;
  }
}

export class CallLog {
  #calls: Promise<RecordedCall>[] = [];

  add(call: Promise<RecordedCall>): void {
    this.#calls.push(call);
  }

  /** Returns every call so far, in the order in which they were made. */
  calls(): Promise<readonly RecordedCall[]> {
    return Promise.all(this.#calls);
  }

  /** Forgets all calls. */
  clear(): void {
    this.#calls = [];
  }

  /** Makes the report on all calls so far. @throws StorageError `INVALID_ARGUMENT` if `at` is not a date */
  async report(options: ReportOptions): Promise<Report> {
    return reportOf(await this.calls(), options);
  }

  /**
   * Resolves if no call is deprecated or gone on the day.
   *
   * @throws DeprecatedCallsError that lists them; StorageError `INVALID_ARGUMENT` if `at` is not a date
   */
  async assertNoDeprecated(options: AssertOptions): Promise<void> {
    const report = await this.report(options);
    const failures = failuresOf(report, options);
    if (failures.length === 0) return;
    throw new DeprecatedCallsError(report.at, failures);
  }
}
