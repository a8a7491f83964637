declare module 'd3-flame-graph' {
  // What the flame view uses of it.
  export interface FlameChart {
    (selection: unknown): void;
    width(value: number): FlameChart;
    cellHeight(value: number): FlameChart;
    transitionDuration(value: number): FlameChart;
    minFrameSize(value: number): FlameChart;
    inverted(value: boolean): FlameChart;
    sort(value: (a: any, b: any) => number): FlameChart;
    selfValue(value: boolean): FlameChart;
    tooltip(value: boolean): FlameChart;
    onClick(handler: (node: any) => void): FlameChart;
    onHover(handler: (node: any) => void): FlameChart;
    setColorMapper(mapper: (node: any, original: string) => string): FlameChart;
    setLabelHandler(handler: (node: any) => string): FlameChart;
    setSearchMatch(match: (node: any, term: string) => boolean): FlameChart;
    setSearchHandler(handler: (results: any[], sum: number, total: number) => void): FlameChart;
    resetHeightOnZoom(value: boolean): FlameChart;
    search(term: string): void;
    clear(): void;
    resetZoom(): void;
    zoomTo(node: unknown): void;
    destroy(): FlameChart;
  }
  const flamegraph: () => FlameChart;
  export default flamegraph;
  export {flamegraph};
}

declare module 'd3-selection' {
  export function select(node: Element): {datum(data: unknown): any};
}
