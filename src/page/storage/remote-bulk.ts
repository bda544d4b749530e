// Implements the bulk calls of a page, which send many rows, entries or statements as one call, and so as one transaction.
//
// Invariant: a call joins the transaction that is open when it is made, even if it is sent later. No assertion keeps
// this: the call carries the scope that was read when it was made, and nothing else has it.

import {
  checkArgumentCount,
  convertString,
  convertWriteOptions,
} from '../../shared/contract/arguments.ts';
import { convertBinding, ownBytes } from '../../shared/contract/bindings.ts';
import type { BulkResult } from '../../shared/contract/bulk.ts';
import { storageError } from '../../shared/contract/errors.ts';
import { BATCH_STATEMENTS_MAX, type SqlStatement } from '../../shared/contract/sql-statements.ts';
import type { BatchResult } from '../../shared/contract/storage.ts';
import { namedRows } from '../../shared/live/live-result.ts';
import { EntryPacker, type Packer, RowPacker } from '../../shared/wire/bulk.ts';
import type { Call, Results } from '../../shared/wire/operations.ts';
import type { PageEnvironment } from '../leader/environment.ts';
import { entrySource, takeAll } from './bulk-source.ts';
import type { SessionCalls } from './session.ts';

export class RemoteBulk {
  readonly #calls: SessionCalls;
  readonly #nextTask: PageEnvironment['nextTask'];

  constructor(calls: SessionCalls, nextTask: PageEnvironment['nextTask']) {
    this.#calls = calls;
    this.#nextTask = nextTask;
  }

  /** Implements `sql.execMany`. */
  async execMany(args: readonly unknown[]): Promise<BulkResult> {
    checkArgumentCount('execMany', args.length, 2);
    const query = convertString('execMany', args[0]);
    const packer = new RowPacker();
    return this.#send('execMany', args[1], packer, args[2], (chunks) => ({
      op: 'execMany',
      query,
      width: packer.width,
      chunks,
    }));
  }

  /** Implements `kv.putMany`. */
  async putMany(args: readonly unknown[]): Promise<number> {
    checkArgumentCount('putMany', args.length, 1);
    const unconfirmed = convertWriteOptions('putMany', args[1]).allowUnconfirmed;
    const source = entrySource(args[0]);
    return this.#send('putMany', source, new EntryPacker(), args[1], (chunks) => ({
      op: 'putMany',
      chunks,
      unconfirmed,
    }));
  }

  /** Implements `batch`. */
  async batch(args: readonly unknown[]): Promise<BatchResult[]> {
    checkArgumentCount('batch', args.length, 1);
    const statements = statementsOf(args[0]);
    const results = await this.#calls.call({ op: 'batch', statements });
    return results.map(({ columnNames = [], rows = [], rowsRead, rowsWritten }) => ({
      rows: namedRows({ columnNames, rows }),
      columnNames,
      rowsRead,
      rowsWritten,
    }));
  }

  #send<Chunk, C extends Call>(
    operation: string,
    source: unknown,
    packer: Packer<unknown, Chunk>,
    options: unknown,
    callOf: (chunks: readonly Chunk[]) => C,
  ): Promise<Results[C['op']]> {
    const calls = this.#calls;
    const { session } = calls;
    const { scope } = session;
    const ends = [session.ending, scope?.ending, calls.signal, scope?.signal];
    const ending = AbortSignal.any(ends.filter((signal) => signal !== undefined));
    const between = { ending, nextTask: this.#nextTask };
    const chunks = takeAll(operation, source, packer, options, between);
    const send = (taken: readonly Chunk[]) => calls.call(callOf(taken), scope);
    if (!(chunks instanceof Promise)) return send(chunks);
    const sent = chunks.then(send); // Make the call before its rows no longer count as being read.
    session.take(chunks, scope);
    return sent;
  }
}

function statementsOf(value: unknown): SqlStatement[] {
  if (typeof value !== 'object' || value === null || !(Symbol.iterator in value)) {
    throw storageError('INVALID_ARGUMENT', 'batch: takes an array of [query, ...bindings].');
  }
  const statements: SqlStatement[] = [];
  for (const statement of value as Iterable<unknown>) {
    const index = statements.length;
    if (index === BATCH_STATEMENTS_MAX) {
      throw storageError(
        'INVALID_ARGUMENT',
        `batch: more than ${BATCH_STATEMENTS_MAX} statements; use several calls, or execMany for one statement with many rows.`,
      );
    }
    if (!Array.isArray(statement) || typeof statement[0] !== 'string') {
      throw storageError(
        'INVALID_ARGUMENT',
        `batch: statement ${index} is not an array of a query and its bindings, such as ['SELECT ?', 1].`,
      );
    }
    const [query, ...bindings] = statement as [string, ...unknown[]];
    statements.push({ query, bindings: bindings.map((each) => ownBytes(convertBinding(each))) });
  }
  return statements;
}
