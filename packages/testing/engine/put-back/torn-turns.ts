// Known defects of commits: an event that is stored in two parts, or a commit of two authors.
//
// Without the assertions that would reset the object (TX16), so that what is found is what is stored.

import type { Edit, PutBack } from './defect.ts';

const STORAGE = 'worker/engine/storage/object-storage.ts';
const COMMITS = 'worker/engine/storage/commit-authors.ts';
const CONTEXT = 'worker/objects/instance/instance-context.ts';
const GATE = 'worker/objects/io/input-gate.ts';

const WITHOUT_ASSERTIONS: readonly Edit[] = [
  {
    file: COMMITS,
    from: "assert(!isImplicit || this.#scope === this.#current, 'a write did not ask whose commit it is');",
    to: '',
  },
  {
    file: COMMITS,
    from: "assert(!scope.hasWritten, 'the writes of one turn would be two commits');",
    to: '',
  },
  {
    file: COMMITS,
    from: "assert(!transactions.isPending, 'a commit would have two authors');",
    to: '',
  },
  {
    file: CONTEXT,
    from: "assert(!this.#scope.hasWritten, 'a task named its author after it had written');",
    to: '',
  },
];

const torn = (name: string, layer: PutBack['layer'], seed: number, ...edits: Edit[]): PutBack => ({
  name,
  layer,
  seed,
  edits: [...WITHOUT_ASSERTIONS, ...edits],
});

export const TORN_TURNS: readonly PutBack[] = [
  torn('SQL joins an open transaction without asking whose it is', 'objects', 900_001, {
    file: 'worker/engine/sql/database.ts',
    from: '        connection.events.beforeWrite();',
    to: '        if (!connection.transactionOpen) connection.events.beforeWrite();',
  }),
  torn('the same, in the world of simulated classes', 'classes', 6, {
    file: 'worker/engine/sql/database.ts',
    from: '        connection.events.beforeWrite();',
    to: '        if (!connection.transactionOpen) connection.events.beforeWrite();',
  }),
  torn('a bulk call does not ask whose transaction is open', 'objects', 900_005, {
    file: STORAGE,
    from: '    this.#beforeWrite(CONFIRMED);\n    return this.#transactions.group(writes);',
    to: '    this.#transactions.beforeWrite();\n    return this.#transactions.group(writes);',
  }),
  torn('a key does not ask whose transaction is open', 'objects', 900_001, {
    file: STORAGE,
    from: '    const writes = this.#beforeWrite(write);\n    if (writes !== undefined) for (const [key] of entries)',
    to: '    this.#transactions.beforeWrite();\n    const writes = this.accesses.notes?.writes;\n    if (writes !== undefined) for (const [key] of entries)',
  }),
  torn('a deletion of keys does not ask whose transaction is open', 'objects', 900_003, {
    file: STORAGE,
    from: '    const writes = this.#beforeWrite(write);\n    if (writes !== undefined) for (const key of keys)',
    to: '    this.#transactions.beforeWrite();\n    const writes = this.accesses.notes?.writes;\n    if (writes !== undefined) for (const key of keys)',
  }),
  torn('an alarm does not ask whose transaction is open', 'objects', 900_001, {
    file: STORAGE,
    from: '    this.#beforeWrite(write)?.addAlarm();',
    to: '    this.#transactions.beforeWrite();\n    this.accesses.notes?.writes.addAlarm();',
  }),
  torn('a synchronous transaction does not ask whose transaction is open', 'objects', 900_002, {
    file: STORAGE,
    from: '    this.#ask();\n    return this.#transactions.sync(',
    to: '    return this.#transactions.sync(',
  }),
  torn('deleteAll takes over what another author has written', 'objects', 900_000, {
    file: STORAGE,
    from: '    this.#ask();\n    if (this.options.backend',
    to: '    if (this.options.backend',
  }),
  torn('authors are told apart by their kind only', 'objects', 900_002, {
    file: COMMITS,
    from: 'if (scope.author !== this.#author) {',
    to: 'if (scope.author?.by.kind !== this.#author?.by.kind) {',
  }),
  torn('writes of two authors are one commit', 'objects', 900_001, {
    file: COMMITS,
    from: '        transactions.commitImplicit();\n',
    to: '',
  }),
  torn('an alarm ends the commit in the middle of a turn', 'objects', 900_001, {
    file: STORAGE,
    from: '    this.#beforeWrite(write)?.addAlarm();',
    to: '    this.commitImplicit();\n    this.#beforeWrite(write)?.addAlarm();',
  }),
  torn('a bookmark does not end the commit', 'objects', 900_002, {
    file: STORAGE,
    from: '    this.#authors.policy.reads?.addEverything();\n    this.#settle();',
    to: '    this.#authors.policy.reads?.addEverything();\n    this.#commits.named();',
  }),
  torn('an export lacks what the event has written', 'objects', 900_003, {
    file: STORAGE,
    from: '    this.commitImplicit();\n    const image = ',
    to: '    const image = ',
  }),
  torn('a requested restore does not end the commit', 'objects', 900_002, {
    file: STORAGE,
    from: '    this.commitImplicit();\n    const undo = this.#files.scheduleRestore(',
    to: '    const undo = this.#files.scheduleRestore(',
  }),
  torn('a write goes on after the commit before it has failed', 'objects', 900_005, {
    file: STORAGE,
    from: '    this.#mustBeAlive(); // A flush that failed may have ended the storage.\n',
    to: '',
  }),
  torn(
    'a call keeps the author of the constructor',
    'classes',
    2,
    {
      file: CONTEXT,
      from: '      this.#scope = this.#newScope(undefined);\n      runTask(this, task);',
      to: '      runTask(this, task);',
    },
    {
      file: 'worker/objects/calls/object-calls.ts',
      from: 'this.#authors.of(request))',
      to: 'undefined)',
    },
  ),
  torn('what follows I/O has no author', 'classes', 2, {
    file: CONTEXT,
    from: '      this.#beginAs(author);\n      return task();',
    to: '      return task();',
  }),
  torn('the constructor and the first event share a turn', 'classes', 21, {
    file: GATE,
    from: '    this.#takeTurn();\n    try {',
    to: '    try {',
  }),
];
