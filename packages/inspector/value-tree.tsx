// Shows a stored value as a tree. A leaf can be edited in place: Enter stores the new value, Escape cancels.

import { useState } from 'preact/hooks';
import { hasMembers, literalOf, type Member, membersOf, parseLiteral } from './stored-value.ts';
import { errorText, leafText, typeText } from './text.ts';

const MEMBERS_MAX = 200;
/** The number of levels that are open at first. */
const OPEN_DEPTH = 2;

interface TreeProps {
  readonly name: string;
  readonly value: unknown;
  /** Stores another value in this place; undefined if the value cannot be changed. */
  readonly change?: ((value: unknown) => Promise<void>) | undefined;
  readonly depth?: number;
}

export function ValueTree({ name, value, change, depth = 0 }: TreeProps) {
  if (!hasMembers(value)) return <Leaf name={name} value={value} change={change} />;
  return <Branch name={name} value={value} change={change} depth={depth} />;
}

/** Shows a value with members. They are drawn only while it is open, because a value may contain itself. */
function Branch({ name, value, change, depth }: TreeProps & { readonly depth: number }) {
  const [isOpen, setOpen] = useState(depth < OPEN_DEPTH);
  const members = isOpen ? membersOf(value) : [];
  const changeOf = ({ replaced }: Member) =>
    change && replaced && ((next: unknown) => change(replaced(next)));
  return (
    <details class="tree" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <span class="tree-name">{name}</span> <span class="type">{typeText(value)}</span>
      </summary>
      <ul>
        {members.slice(0, MEMBERS_MAX).map((member, index) => (
          <li key={index}>
            <ValueTree
              name={member.name}
              value={member.value}
              change={changeOf(member)}
              depth={depth + 1}
            />
          </li>
        ))}
        {members.length > MEMBERS_MAX && <li>and {members.length - MEMBERS_MAX} more</li>}
      </ul>
    </details>
  );
}

function Leaf({ name, value, change }: TreeProps) {
  const [draft, setDraft] = useState<string | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const literal = change === undefined ? null : literalOf(value);
  const store = async () => {
    try {
      await change?.(parseLiteral(draft ?? ''));
      setDraft(null);
      setProblem(null);
    } catch (error) {
      setProblem(errorText(error));
    }
  };
  if (draft === null) {
    return (
      <div class="leaf">
        <span class="tree-name">{name}</span> <code>{leafText(value)}</code>{' '}
        <span class="type">{typeText(value)}</span>
        {literal !== null && (
          <button type="button" aria-label={`Edit ${name}`} onClick={() => setDraft(literal)}>
            Edit
          </button>
        )}
      </div>
    );
  }
  return (
    <form
      class="leaf"
      onSubmit={(event) => {
        event.preventDefault();
        void store();
      }}
    >
      <label>
        {name}{' '}
        <input
          class="code"
          value={draft}
          ref={(input) => input?.focus()}
          onInput={(event) => setDraft(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === 'Escape') setDraft(null);
          }}
        />
      </label>
      <button type="submit">Store</button>
      {problem !== null && <p role="alert">{problem}</p>}
    </form>
  );
}
