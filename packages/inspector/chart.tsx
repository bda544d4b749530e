// A chart of one column of a result: bars, or a line if there are many rows.

import type { SqlStorageValue } from '@ctx-storage/core/storage';
import { useState } from 'preact/hooks';
import { type ChartPoint, chartColumns, chartPoints, ticksOf } from './chart-scale.ts';
import { countText } from './text.ts';

const WIDTH = 600;
const HEIGHT = 180;
const LEFT = 70;
const BOTTOM = 20;
const BARS_MAX = 40;
const POINTS_MAX = 600;

interface ChartProps {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly SqlStorageValue[])[];
}

export function Chart({ columns, rows }: ChartProps) {
  const drawable = chartColumns(columns, rows);
  const [chosen, setChosen] = useState<number | null>(null);
  if (drawable.length === 0 || rows.length < 2) return null;
  const column = chosen !== null && drawable.includes(chosen) ? chosen : drawable[0]!;
  const points = chartPoints(rows, column, POINTS_MAX);
  return (
    <details class="chart">
      <summary>Chart</summary>
      {drawable.length > 1 && (
        <label class="field inline">
          Column
          <select value={column} onChange={(event) => setChosen(Number(event.currentTarget.value))}>
            {drawable.map((index) => (
              <option key={index} value={index}>
                {columns[index]}
              </option>
            ))}
          </select>
        </label>
      )}
      <Drawing points={points} label={`${columns[column]} of ${countText(points.length, 'row')}`} />
    </details>
  );
}

function Drawing({ points, label }: { points: readonly ChartPoint[]; label: string }) {
  const values = points.map(({ value }) => value);
  const ticks = ticksOf(values);
  const [low, high] = [ticks[0]!, ticks.at(-1)!];
  const y = (value: number) => 8 + ((high - value) / (high - low)) * (HEIGHT - BOTTOM - 8);
  const slot = (WIDTH - LEFT) / points.length;
  const x = (index: number) => LEFT + index * slot;
  return (
    <svg class="drawing" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={label}>
      {ticks.map((tick) => (
        <g key={tick}>
          <line class="chart-line" x1={LEFT} x2={WIDTH} y1={y(tick)} y2={y(tick)} />
          <text x={LEFT - 6} y={y(tick) + 4} text-anchor="end">
            {tick.toLocaleString('en')}
          </text>
        </g>
      ))}
      {points.length <= BARS_MAX ? (
        points.map(({ label: name, value }, index) => (
          <rect
            key={index}
            class="bar chosen"
            x={x(index) + slot * 0.1}
            width={slot * 0.8}
            y={Math.min(y(value), y(0))}
            height={Math.abs(y(value) - y(0))}
          >
            <title>{`${name}: ${value}`}</title>
          </rect>
        ))
      ) : (
        <polyline
          class="chart-curve"
          points={values.map((value, index) => `${x(index) + slot / 2},${y(value)}`).join(' ')}
        />
      )}
      <text x={LEFT} y={HEIGHT - 4}>
        {points[0]!.label.slice(0, 24)}
      </text>
      <text x={WIDTH} y={HEIGHT - 4} text-anchor="end">
        {points.at(-1)!.label.slice(0, 24)}
      </text>
    </svg>
  );
}
