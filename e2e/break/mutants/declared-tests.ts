// The declarations of test files: their tests, and the hooks around each of them, as plain data.
//
// Replaces `test`, `describe` and the hooks of Vitest for files that are imported once and then run
// many times. Knows the forms that this repository uses, and nothing of mutants.

type Body = (context?: unknown) => unknown;

/** A file or a `describe`. */
export class Group {
  readonly title: string;
  readonly parent: Group | null;
  readonly beforeAll: Body[] = [];
  readonly beforeEach: Body[] = [];
  readonly afterEach: Body[] = [];
  /** Run before the files are imported again: until then their tests may be run again. */
  readonly afterAll: Body[] = [];
  begun: Promise<void> | null = null;

  constructor(title: string, parent: Group | null) {
    this.title = title;
    this.parent = parent;
  }

  /** From the file inward. */
  get path(): readonly Group[] {
    return this.parent === null ? [this] : [...this.parent.path, this];
  }
}

export interface DeclaredTest {
  readonly id: string;
  readonly file: string;
  readonly group: Group;
  readonly body: Body;
}

export class DeclaredTests {
  readonly tests = new Map<string, DeclaredTest>();
  #file = '';
  #group = new Group('', null);
  /** The functions that the running test has asked to be called at its end. */
  #ends: Body[] = [];

  /** Imports `file` by `load`, and assigns the declarations meanwhile to it. */
  async collect(file: string, load: () => Promise<unknown>): Promise<void> {
    this.#file = file;
    this.#group = new Group('', null);
    await load();
  }

  /** The functions that test files import instead of Vitest's. */
  get functions(): Record<string, unknown> {
    const hook = (name: 'beforeAll' | 'beforeEach' | 'afterEach' | 'afterAll') => (body: Body) => {
      this.#group[name].push(body);
    };
    const declareTest = (title: string, ...rest: unknown[]) => this.#declare(title, rest);
    const describe = (title: string, body: () => void) => this.#nest(title, body);
    return {
      test: Object.assign(declareTest, forms(declareTest)),
      describe: Object.assign(describe, forms(describe as typeof declareTest)),
      beforeAll: hook('beforeAll'),
      beforeEach: hook('beforeEach'),
      afterEach: hook('afterEach'),
      afterAll: hook('afterAll'),
      onTestFinished: (body: Body) => void this.#ends.push(body),
    };
  }

  #nest(title: string, body: () => void): void {
    const outer = this.#group;
    this.#group = new Group(title, outer);
    body();
    this.#group = outer;
  }

  #declare(title: string, rest: readonly unknown[]): void {
    const body = rest.find((part) => typeof part === 'function') as Body;
    const titles = [...this.#group.path.map((group) => group.title), title];
    const name = `${this.#file}#${titles.filter((part) => part !== '').join(' ')}`;
    let id = name;
    for (let count = 2; this.tests.has(id); count += 1) id = `${name} (${count})`;
    this.tests.set(id, { id, file: this.#file, group: this.#group, body: this.#ended(body) });
  }

  /** Runs the body of a test, and then the functions that it has asked for at its end. */
  #ended(body: Body): Body {
    return async (context) => {
      const ends: Body[] = [];
      this.#ends = ends;
      try {
        await body(context);
      } finally {
        for (const end of ends.toReversed()) await end();
      }
    };
  }
}

const NEVER = { each: () => () => {}, for: () => () => {} };

type Declare = (title: string, ...rest: unknown[]) => void;

/** `each` spreads a row that is an array, `for` passes it whole; `skipIf` and `runIf` declare it or do nothing. */
function forms(declare: Declare) {
  const rows =
    (toArguments: (row: unknown) => readonly unknown[]) =>
    (table: readonly unknown[]) =>
    (title: string, ...rest: unknown[]) => {
      const body = rest.find((part) => typeof part === 'function') as (
        ...row: unknown[]
      ) => unknown;
      for (const row of table) declare(title, () => body(...toArguments(row)));
    };
  const inRows = {
    each: rows((row) => (Array.isArray(row) ? row : [row])),
    for: rows((row) => [row]),
  };
  const inAnyForm = (use: Declare) =>
    Object.assign((...args: Parameters<Declare>) => use(...args), inRows);
  const runIf = (condition: unknown) =>
    condition ? inAnyForm(declare) : Object.assign(() => {}, NEVER);
  return { ...inRows, runIf, skipIf: (condition: unknown) => runIf(!condition) };
}
