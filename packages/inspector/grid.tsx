// A grid that draws only the rows in view, of any number of rows.
//
// Browsers limit the height of an element (Firefox: about 17,900,000 pixels), which is less than a million rows take.
// So the scrolled height is limited, too, and with more rows, each scroll position means a range of them. Libraries
// that lay out rows at their true positions cannot do this.

// biome-ignore-all lint/a11y/useSemanticElements: a table cannot draw a part of its rows
// biome-ignore-all lint/a11y/useFocusableInteractive: the grid and the content of its cells have the focus

import type { SqlStorageValue } from '@ctx-storage/core/storage';
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { bytesText } from './text.ts';

export const ROW_PX = 28;
const HEIGHT_PX_MAX = 8_000_000;
const TEXT_LENGTH_MAX = 200;
// The width of a column is between these numbers of characters.
const CHARS_MIN = 14;
const CHARS_MAX = 48;
const PADDING_CHARS = 3;

export interface GridWindow {
  readonly first: number;
  readonly count: number;
}

export interface GridProps {
  readonly label: string;
  readonly columns: readonly ComponentChildren[];
  readonly rowCount: number;
  /** Returns the values of a row, or undefined if they are not read yet. */
  readonly row: (index: number) => readonly SqlStorageValue[] | undefined;
  readonly isChanged?: (index: number) => boolean;
  /** Called when other rows come into view. */
  readonly onWindow?: (window: GridWindow) => void;
  /** Returns the element that is drawn in place of a cell's value. */
  readonly cell?: (index: number, column: number, value: SqlStorageValue) => ComponentChildren;
}

export function Grid({ label, columns, rowCount, row, isChanged, onWindow, cell }: GridProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 400 });
  const naturalPx = rowCount * ROW_PX;
  const heightPx = Math.min(naturalPx, HEIGHT_PX_MAX);
  const bodyPx = Math.max(ROW_PX, view.height - ROW_PX);
  const count = Math.min(rowCount, Math.ceil(bodyPx / ROW_PX) + 1);
  const firstMost = Math.max(0, rowCount - Math.floor(bodyPx / ROW_PX));
  const share = heightPx > bodyPx ? view.top / (heightPx - bodyPx) : 0;
  const exact =
    naturalPx === heightPx ? view.top / ROW_PX : Math.min(1, Math.max(0, share)) * firstMost;
  const first = Math.max(0, Math.min(firstMost, Math.floor(exact)));
  useLayoutEffect(() => {
    const element = scroller.current!;
    const measure = () => setView({ top: element.scrollTop, height: element.clientHeight });
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  useEffect(() => onWindow?.({ first, count }), [first, count]);
  const indexes = Array.from({ length: count }, (_, i) => first + i).filter((i) => i < rowCount);
  const widths = useWidths(columns.length, indexes.map(row));
  const tracks = widths.map((chars) => `minmax(${chars}ch, ${chars}fr)`);
  const template = { gridTemplateColumns: `4.5rem ${tracks.join(' ')}` };
  const widthChars = widths.reduce((sum, chars) => sum + chars, 0);
  return (
    <div
      class="grid"
      role="grid"
      tabIndex={0}
      aria-label={label}
      aria-rowcount={rowCount + 1}
      ref={scroller}
      onScroll={(event) => {
        const { scrollTop, clientHeight } = event.currentTarget;
        setView({ top: scrollTop, height: clientHeight });
      }}
    >
      <div
        class="grid-height"
        style={{ height: `${heightPx + ROW_PX}px`, minWidth: `calc(4.5rem + ${widthChars}ch)` }}
      >
        <div class="grid-view">
          <div class="grid-row grid-head" role="row" aria-rowindex={1} style={template}>
            <span role="columnheader">#</span>
            {columns.map((column, index) => (
              <span key={index} role="columnheader">
                {column}
              </span>
            ))}
          </div>
          {indexes.map((index) => (
            <div
              key={index}
              class={isChanged?.(index) ? 'grid-row changed' : 'grid-row'}
              role="row"
              aria-rowindex={index + 2}
              style={template}
            >
              <span role="rowheader" class="row-number">
                {index + 1}
              </span>
              {columns.map((_, column) => {
                const value = row(index)?.[column];
                return (
                  <span key={column} role="gridcell" class={cellClass(value)}>
                    {value === undefined ? '…' : (cell?.(index, column, value) ?? cellText(value))}
                  </span>
                );
              })}
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}

/**
 * Returns the width of each column in characters, which fits the texts seen so far, within bounds. CSS cannot do this,
 * because each row is laid out by itself. A column never becomes narrower while the user scrolls.
 */
function useWidths(
  count: number,
  rows: readonly (readonly SqlStorageValue[] | undefined)[],
): readonly number[] {
  const seen = useRef<readonly number[]>([]);
  const before =
    seen.current.length === count ? seen.current : Array<number>(count).fill(CHARS_MIN);
  seen.current = before.map((chars, column) =>
    rows.reduce((most, row) => Math.max(most, charsOf(row?.[column])), chars),
  );
  return seen.current;
}

function charsOf(value: SqlStorageValue | undefined): number {
  const { length } = value === undefined ? '' : cellText(value);
  return Math.min(length + PADDING_CHARS, CHARS_MAX);
}

/** Returns the value of a cell as one line of text. */
export function cellText(value: SqlStorageValue): string {
  if (value === null) return 'NULL';
  if (typeof value === 'number') return String(value);
  if (typeof value !== 'string') return `BLOB ${bytesText(value.byteLength)}`;
  return value.length > TEXT_LENGTH_MAX ? `${value.slice(0, TEXT_LENGTH_MAX)}…` : value;
}

function cellClass(value: SqlStorageValue | undefined): string {
  if (value === null || value === undefined) return 'soft';
  if (typeof value === 'number') return 'number';
  return typeof value === 'string' ? '' : 'soft';
}
