// The list of branches in the timeline, with the actions of each, and the form for a new branch of the chosen moment.

import type { StorageCommit } from '@ctx-storage/core/storage';
import { useState } from 'preact/hooks';
import { countText, timeText } from './text.ts';
import type { InspectedBranches, ListedBranch } from './use-branches.ts';

interface BranchListProps {
  readonly branches: InspectedBranches;
  readonly listed: readonly ListedBranch[];
  readonly commits: readonly StorageCommit[];
  /** The moment at which a new branch begins. */
  readonly moment: StorageCommit;
  /** Runs an action, and shows the text to which it resolves, or its error. */
  readonly act: (action: () => Promise<string>) => void;
  /** Shows the changes of a branch. */
  readonly show: (branch: ListedBranch) => void;
  /** Merges the changes of a branch into the object. */
  readonly merge: (branch: ListedBranch) => void;
  /** Replaces the object by the branch. */
  readonly promote: (branch: ListedBranch) => void;
}

export function BranchList({ branches, listed, commits, moment, act, ...on }: BranchListProps) {
  const [confirming, setConfirming] = useState<string | null>(null);
  const isNow = moment === commits.at(-1);
  const remove = (branch: ListedBranch) => {
    setConfirming(null);
    act(async () => {
      await branches.remove(branch);
      return `Branch “${branch.name}” was deleted.`;
    });
  };
  return (
    <section class="branches" aria-label="Branches">
      <h2>Branches</h2>
      {listed.length === 0 && (
        <p class="empty">
          No branches yet. A branch is a copy of the chosen moment on which you can try changes;
          this object is not affected.
        </p>
      )}
      <ul aria-label="Branches">
        {listed.map((branch) => {
          const { name, bookmark, isKept } = branch;
          const begun = commits.findIndex((commit) => commit.bookmark === bookmark);
          return (
            <li key={name} class="branch">
              <Lane from={begun} of={commits.length} />
              <span class="branch-name">
                <strong>{name}</strong>{' '}
                <span class="kind">{isKept ? 'kept' : 'until the inspector closes'}</span>{' '}
                <span class="soft">{sinceText(commits, begun)}</span>
              </span>
              <span class="actions">
                <button
                  type="button"
                  aria-label={`Open ${name}`}
                  onClick={() =>
                    act(async () => {
                      await branches.open(branch);
                      return `Branch “${name}” is shown.`;
                    })
                  }
                >
                  Open
                </button>
                <button
                  type="button"
                  aria-label={`Changes of ${name}`}
                  onClick={() => on.show(branch)}
                >
                  Changes
                </button>
                <button type="button" aria-label={`Merge ${name}`} onClick={() => on.merge(branch)}>
                  Merge
                </button>
                <button
                  type="button"
                  aria-label={`Promote ${name}`}
                  onClick={() => on.promote(branch)}
                >
                  Promote
                </button>
                {confirming === name ? (
                  <>
                    <button
                      type="button"
                      class="danger"
                      aria-label={`Delete ${name} for good`}
                      onClick={() => remove(branch)}
                    >
                      Delete for good
                    </button>
                    <button type="button" onClick={() => setConfirming(null)}>
                      Keep
                    </button>
                  </>
                ) : (
                  <button
                    type="button"
                    class="danger"
                    aria-label={`Delete ${name}`}
                    onClick={() => setConfirming(name)}
                  >
                    Delete
                  </button>
                )}
              </span>
            </li>
          );
        })}
      </ul>
      <NewBranch
        key={listed.length}
        taken={listed.map(({ name }) => name)}
        moment={moment}
        isNow={isNow}
        fork={(name, isKept) =>
          act(async () => {
            // Without a bookmark, the branch also has commits that this list does not show yet.
            await branches.fork(name, isNow ? null : moment.bookmark, isKept);
            return `Branch “${name}” was made.`;
          })
        }
      />
    </section>
  );
}

/** Draws the point at which the branch leaves the timeline. */
function Lane({ from, of }: { readonly from: number; readonly of: number }) {
  const start = from === -1 ? 0 : ((from + 0.5) / of) * 100;
  return (
    <span class="lane" aria-hidden="true">
      <span class="lane-line" style={{ marginLeft: `${Math.min(start, 97)}%` }} />
    </span>
  );
}

function sinceText(commits: readonly StorageCommit[], begun: number): string {
  if (begun === -1) return 'began before the commits above';
  const later = commits.length - 1 - begun;
  const since =
    later === 0 ? 'nothing has changed here since' : `${countText(later, 'commit')} since`;
  return `began ${timeText(commits[begun]!.time)}, ${since}`;
}

interface NewBranchProps {
  readonly taken: readonly string[];
  readonly moment: StorageCommit;
  readonly isNow: boolean;
  readonly fork: (name: string, isKept: boolean) => void;
}

function NewBranch({ taken, moment, isNow, fork }: NewBranchProps) {
  const [name, setName] = useState(freeName(taken));
  const [isKept, setKept] = useState(false);
  return (
    <form
      class="actions"
      onSubmit={(event) => {
        event.preventDefault();
        fork(name, isKept);
      }}
    >
      <label class="field inline">
        New branch
        <input
          value={name}
          required
          onInput={({ currentTarget }) => {
            const isTaken = taken.includes(currentTarget.value);
            currentTarget.setCustomValidity(isTaken ? 'Another branch has this name.' : '');
            setName(currentTarget.value);
          }}
        />
      </label>
      <label class="field inline">
        <input
          type="checkbox"
          checked={isKept}
          onChange={(event) => setKept(event.currentTarget.checked)}
        />
        Keep it
      </label>
      <button type="submit">{isNow ? 'Branch from now' : 'Branch from here'}</button>
      {!isNow && <span class="soft">{timeText(moment.time)}</span>}
    </form>
  );
}

function freeName(taken: readonly string[]): string {
  for (let number = 1; ; number++) {
    if (!taken.includes(`draft ${number}`)) return `draft ${number}`;
  }
}
