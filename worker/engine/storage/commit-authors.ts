// Decides which author each commit of an object has.
//
// Invariants: a commit has one author, and all writes of one scope are in the same commit. So `beforeWrite` is called
// before every write. The first write of a scope may find uncommitted writes of another author; these are committed
// first. An explicit transaction belongs to the author who began it. If that author has no label, the transaction gets
// the label of the first code that writes in it and has one.

import { assert } from '../../../src/shared/contract/invariant.ts';
import type { CommitAuthor } from '../../../src/shared/contract/storage.ts';
import { type Annotation, annotationOf } from '../log/annotation.ts';
import type { ObjectFiles } from '../log/object-files.ts';
import { type AccessPolicy, UNRESTRICTED } from './access-policy.ts';
import type { CommitScope, StorageEnvironment } from './storage-environment.ts';
import type { Transactions } from './transactions.ts';

/** The members of `Transactions` that this module uses. */
type OpenTransaction = Pick<Transactions, 'isImplicit' | 'isPending' | 'commitImplicit'>;

/** The scope of all code if the environment has no scopes. */
const ONLY_SCOPE: CommitScope = { author: undefined, policy: UNRESTRICTED, hasWritten: false };

export class CommitAuthors {
  readonly #files: Pick<ObjectFiles, 'annotate'>;
  readonly #environment: Pick<StorageEnvironment, 'scope'>;
  /** The author of the open transaction. */
  #author: Annotation | undefined;
  /** The scope that last called `begin` or `beforeWrite`. */
  #scope: CommitScope | undefined;

  constructor(
    files: Pick<ObjectFiles, 'annotate'>,
    environment: Pick<StorageEnvironment, 'scope'>,
  ) {
    this.#files = files;
    this.#environment = environment;
  }

  /** The policy of the running code, which says what the code may do to the storage. */
  get policy(): AccessPolicy {
    return this.#current.policy;
  }

  /** Called when a commit begins: its author is the given one, by default that of the running code. */
  begin(author = this.#current.author): void {
    this.#scope = this.#current;
    this.#author = author;
    this.#files.annotate(author);
  }

  /** Called before the running code writes: commits the implicit transaction if it is another author's. */
  beforeWrite(transactions: OpenTransaction): void {
    const scope = this.#current;
    if (scope === this.#scope) return;
    if (scope.author !== this.#author) {
      if (transactions.isPending) {
        assert(!scope.hasWritten, 'the writes of one turn would be two commits');
        transactions.commitImplicit();
        assert(!transactions.isPending, 'a commit would have two authors');
      } else if (!transactions.isImplicit) this.#labelAs(scope.author);
    }
    scope.hasWritten = true;
    this.#scope = scope;
  }

  /**
   * Called before a statement that writes: asserts that the running scope has called `beforeWrite`. Not needed in an
   * explicit transaction, which has one author anyway.
   */
  mustHaveAsked({ isImplicit }: OpenTransaction): void {
    assert(!isImplicit || this.#scope === this.#current, 'a write did not ask whose commit it is');
  }

  /** Returns the author of a commit that an operation of this kind makes for the running code. */
  as(kind: CommitAuthor['kind']): Annotation {
    return annotationOf({ ...this.#current.author?.by, kind });
  }

  get #current(): CommitScope {
    return this.#environment.scope?.() ?? ONLY_SCOPE;
  }

  /** Gives the author of the open transaction this author's label, if it has none. */
  #labelAs(author: Annotation | undefined): void {
    const label = author?.by.label;
    if (label === undefined || this.#author === undefined) return;
    if (this.#author.by.label === undefined)
      this.begin(annotationOf({ ...this.#author.by, label }));
  }
}
