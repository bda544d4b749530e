// The panel of the timeline, which shows the commits of an object. Sliders choose two moments, which are compared. The
// object can be restored to a moment and back, a commit can be reverted alone, and a branch can begin at any moment.

import { isStorageError } from '@ctx-storage/core/errors';
import type { CommitAuthor, StorageBranch, StorageCommit } from '@ctx-storage/core/storage';
import { useEffect, useState } from 'preact/hooks';
import { BranchList } from './branch-list.tsx';
import { CompareView } from './compare-view.tsx';
import { type Compared, compare } from './compared.ts';
import { ConflictView } from './conflict-view.tsx';
import { bytesText, countText, errorText, timeText } from './text.ts';
import type { InspectedBranches, ListedBranch } from './use-branches.ts';
import { useCommits } from './use-commits.ts';
import { revertOf, useMerging } from './use-merging.ts';

/** The number of commits that are drawn, which are the newest. */
const COMMITS_MAX = 400;
const BAR_HEIGHT = 48;

/** The result of the last action, and how it is undone. */
interface ActionResult {
  readonly text: string;
  /** The bookmark to which the object is restored for an undo. */
  readonly undo: { readonly label: string; readonly bookmark: string } | null;
}

export function TimelinePanel({ branches }: { readonly branches: InspectedBranches }) {
  const storage = branches.shown;
  const [commits, setCommits] = useState<readonly StorageCommit[] | null>(null);
  const [listed, setListed] = useState<readonly ListedBranch[]>([]);
  const [chosen, setChosen] = useState<string | null>(null);
  /** The moment with which the chosen one is compared; null is now. */
  const [other, setOther] = useState<string | null>(null);
  /** The branch whose changes are shown in place of two moments. */
  const [subject, setSubject] = useState<ListedBranch | null>(null);
  const [compared, setCompared] = useState<Compared | null>(null);
  const [lastResult, setLastResult] = useState<ActionResult | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const merging = useMerging(storage);
  const newest = commits?.at(-1)?.bookmark;

  useCommits(
    storage,
    async (isOver) => {
      const found = await storage.history({ limit: COMMITS_MAX });
      const branched = await branches.list();
      if (isOver()) return;
      setCommits(found.reverse());
      setListed(branched);
    },
    (error) => setProblem(errorText(error)),
  );

  const until = other ?? newest;
  useEffect(() => {
    setCompared(null);
    if ((chosen === null && subject === null) || commits === null) return;
    const read = () =>
      subject === null
        ? compare(storage.diff(...moments()), () => isOver)
        : branches.use(subject, (branch) => compare(branch.diff(), () => isOver));
    const moments = (): [string, string?] => {
      if (other === null) return [chosen!];
      const place = (at: string | null) => commits.findIndex(({ bookmark }) => bookmark === at);
      return place(other) < place(chosen) ? [other, chosen!] : [chosen!, other];
    };
    let isOver = false;
    // Nothing is read while a slider moves.
    const timer = setTimeout(async () => {
      try {
        const found = await read();
        if (!isOver) setCompared(found);
        setProblem(null);
      } catch (error) {
        if (!isOver) setProblem(errorText(error));
      }
    }, 150);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [storage, chosen, until, subject]);

  /** Runs an action, and shows its result or its error. */
  const act = async (action: () => Promise<ActionResult | null>) => {
    merging.clear();
    setSubject(null);
    setLastResult(null);
    try {
      setLastResult(await action());
      setProblem(null);
      setListed(await branches.list());
    } catch (error) {
      setProblem(errorText(error));
    }
  };
  const goTo = (bookmark: string, isUndo = false) =>
    act(async () => {
      const before = await storage.restore(bookmark);
      setChosen(null);
      setOther(null);
      const text = isUndo
        ? 'The object is as it was before.'
        : 'The object is back at the chosen moment.';
      return { text, undo: isUndo ? null : { label: 'Undo going back', bookmark: before } };
    });
  const promote = async (branch: StorageBranch, name: string): Promise<ActionResult> => {
    try {
      const before = await storage.promote(branch);
      setChosen(null);
      return {
        text: `Branch “${name}” is the object now.`,
        undo: { label: 'Undo the promotion', bookmark: before },
      };
    } catch (error) {
      if (!isStorageError(error) || error.code !== 'CONFLICT') throw error;
      const since = 'has changed since the branch began, and a promotion would lose those changes';
      throw new Error(`“${name}” was not promoted: the object ${since}.`, { cause: error });
    }
  };
  const attempt = (step: Promise<void>) =>
    step.then(
      () => setProblem(null),
      (error: unknown) => setProblem(errorText(error)),
    );
  const revert = (commit: StorageCommit) => {
    setLastResult(null);
    merging.clear();
    const done = `The commit of ${timeText(commit.time)} was reverted.`;
    void attempt(merging.run('Revert', done, revertOf(storage, commit.bookmark)));
  };

  const merge = (listed: ListedBranch) => {
    setLastResult(null);
    merging.clear();
    const step = merging.run(
      `Merge “${listed.name}”`,
      `The changes of branch “${listed.name}” were made here.`,
      (onConflict) =>
        branches.use(listed, (branch) =>
          storage.merge(branch, onConflict === undefined ? {} : { onConflict }),
        ),
    );
    void attempt(step);
  };

  if (commits === null) return <Waiting problem={problem} />;
  const commit = commits.find(({ bookmark }) => bookmark === chosen) ?? commits.at(-1);
  if (commit === undefined) return <p class="panel empty">Nothing was committed yet.</p>;
  const end = commits.find(({ bookmark }) => bookmark === other) ?? commits.at(-1)!;
  const { waiting, done } = merging;
  const isComparing = chosen !== null || subject !== null;
  const place = (at: StorageCommit) => `commit ${commits.indexOf(at) + 1} of ${commits.length}`;
  const endText = end === commits.at(-1) ? 'now' : `${place(end)}, ${describe(end)}`;
  return (
    <div class="panel timeline">
      <Bars commits={commits} chosen={commit} end={chosen === null ? commit : end} />
      <label class="field slider">
        <span>
          Moment <span class="soft">{place(commit)}</span>
        </span>
        <input
          type="range"
          min={0}
          max={commits.length - 1}
          value={commits.indexOf(commit)}
          aria-label="Moment"
          aria-valuetext={`${place(commit)}, ${describe(commit)}`}
          onInput={(event) => {
            setSubject(null);
            setChosen(commits[event.currentTarget.valueAsNumber]!.bookmark);
          }}
        />
      </label>
      <p role="status">{describe(commit)}</p>
      {chosen !== null && (
        <label class="field slider">
          <span>
            Compared with <span class="soft">{endText}</span>
          </span>
          <input
            type="range"
            min={0}
            max={commits.length - 1}
            value={commits.indexOf(end)}
            aria-label="Compared with"
            aria-valuetext={endText}
            onInput={(event) => {
              const { bookmark } = commits[event.currentTarget.valueAsNumber]!;
              setOther(bookmark === newest ? null : bookmark);
            }}
          />
        </label>
      )}
      <div class="actions">
        <button type="button" disabled={chosen === null} onClick={() => goTo(commit.bookmark)}>
          Go back to here
        </button>
        <button type="button" onClick={() => revert(commit)}>
          Revert this commit
        </button>
        {chosen !== null && (
          <button
            type="button"
            onClick={() => {
              setChosen(null);
              setOther(null);
            }}
          >
            Now
          </button>
        )}
      </div>
      {lastResult !== null && (
        <div class="actions">
          <span role="status">{lastResult.text}</span>
          {lastResult.undo !== null && (
            <button type="button" onClick={() => goTo(lastResult.undo!.bookmark, true)}>
              {lastResult.undo.label}
            </button>
          )}
        </div>
      )}
      {done !== null && (
        <div class="actions">
          <span role="status">{done.text}</span>
          {done.undo !== null && (
            <button
              type="button"
              onClick={() => attempt(merging.run('Undo', 'It was taken back.', done.undo!))}
            >
              Take it back
            </button>
          )}
        </div>
      )}
      {problem !== null && <p role="alert">{problem}</p>}
      {waiting !== null && (
        <ConflictView
          key={waiting.conflicts.length}
          title={waiting.title}
          conflicts={waiting.conflicts}
          decide={(answers) => void attempt(merging.decide(answers))}
          cancel={() => merging.clear()}
        />
      )}
      {isComparing && compared === null && problem === null && <p class="empty">Reading…</p>}
      {subject !== null && waiting === null && (
        <div class="actions">
          <h2>What “{subject.name}” has changed since it began</h2>
          <button type="button" onClick={() => setSubject(null)}>
            Close
          </button>
        </div>
      )}
      {compared !== null && waiting === null && <CompareView compared={compared} />}
      {!isComparing && (
        <p class="empty">
          Move the slider to see the changes since a moment. The history has the time, author and
          size of each commit, but not the statements that made it.
        </p>
      )}
      <BranchList
        branches={branches}
        listed={listed}
        commits={commits}
        moment={commit}
        act={(action) => void act(async () => ({ text: await action(), undo: null }))}
        show={(branch) => {
          setChosen(null);
          setOther(null);
          setSubject(branch);
        }}
        merge={merge}
        promote={(branch) =>
          void act(() => branches.use(branch, (used) => promote(used, branch.name)))
        }
      />
    </div>
  );
}

function Waiting({ problem }: { readonly problem: string | null }) {
  return (
    <div class="panel">
      {problem === null ? <p class="empty">Reading…</p> : <p role="alert">{problem}</p>}
    </div>
  );
}

function describe({ time, bytes, pages, isRestore, by }: StorageCommit): string {
  const facts = `${timeText(time)}, ${bytesText(bytes)} in the log, ${countText(pages, 'page')}`;
  return `${facts}${isRestore ? ', went back' : ''}${by === undefined ? '' : `, ${authorText(by)}`}`;
}

function authorText({ kind, method, label }: CommitAuthor): string {
  const made = `by ${method === undefined ? kind : `${kind} ${method}()`}`;
  return label === undefined ? made : `${made}: ${label}`;
}

interface BarsProps {
  readonly commits: readonly StorageCommit[];
  readonly chosen: StorageCommit;
  /** The moment with which `chosen` is compared. */
  readonly end: StorageCommit;
}

/** Draws a bar for each commit, whose height is the logarithm of its bytes. */
function Bars({ commits, chosen, end }: BarsProps) {
  const [first, last] = [chosen, end]
    .map((commit) => commits.indexOf(commit))
    .sort((a, b) => a - b);
  const most = Math.max(...commits.map(({ bytes }) => Math.log2(bytes)));
  const height = (bytes: number) => (Math.log2(bytes) / most) * BAR_HEIGHT;
  return (
    <svg
      class="bars"
      viewBox={`0 0 ${commits.length * 4} ${BAR_HEIGHT}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      {first! < last! && (
        <rect
          class="span"
          x={first! * 4}
          y={0}
          width={(last! - first!) * 4 + 3}
          height={BAR_HEIGHT}
        />
      )}
      {commits.map((commit, index) => (
        <rect
          key={commit.bookmark}
          class={commit === chosen ? 'bar chosen' : commit.isRestore ? 'bar restore' : 'bar'}
          x={index * 4}
          y={BAR_HEIGHT - height(commit.bytes)}
          width={3}
          height={height(commit.bytes)}
        />
      ))}
    </svg>
  );
}
