// Runs in the copy of the report that the browser test makes; the report itself has no scripts.
// Leaves what it measured as JSON in an attribute of <html>, where --dump-dom shows it.
addEventListener("load", () => {
  const luminance = (colour) => {
    const [r, g, b] = colour.match(/[\d.]+/g).slice(0, 3).map((channel) => {
      const c = channel / 255;
      return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  // How much a text stands out from the page (WCAG 2.1, 1.4.3).
  const contrast = (a, b) => {
    const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  const paper = getComputedStyle(document.body).backgroundColor;
  const svgs = [...document.querySelectorAll("svg")];
  const overlaps = [];
  const outside = [];
  const plots = svgs.map((svg) => {
    const box = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll("text")].map((t) => [t, t.getBoundingClientRect()]);
    texts.forEach(([text, a], index) => {
      if (a.left < box.left - 1 || a.right > box.right + 1 || a.top < box.top - 1 || a.bottom > box.bottom + 1)
        outside.push(text.textContent);
      for (const [other, b] of texts.slice(index + 1))
        if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3)
          overlaps.push(`${text.textContent} / ${other.textContent}`);
    });
    // What the data is drawn with: marks of some size, not the lines of scales.
    const marks = [...svg.querySelectorAll("rect, circle, path, polyline, polygon")].filter((mark) => {
      const { width, height } = mark.getBoundingClientRect();
      return width >= 1 && height >= 1;
    });
    const inks = marks.flatMap((mark) => {
      const { fill, stroke } = getComputedStyle(mark);
      return [fill, stroke].filter((ink) => ink.startsWith("rgb(") && ink !== paper);
    });
    return {
      label: svg.getAttribute("aria-label"),
      inks: [...new Set(inks)].map((ink) => ink.match(/\d+/g).map(Number)),
      box: [box.left, box.top, box.width, box.height].map(Math.round),
    };
  });
  const coloured = [...document.querySelectorAll("p, dt, dd, li, th, td, text, .badge, summary")];
  const faint = coloured.filter((element) => {
    const style = getComputedStyle(element);
    return contrast(element instanceof SVGElement ? style.fill : style.color, paper) < 4.5;
  });
  const found = {
    paper, plots, overlaps, outside,
    faint: [...new Set(faint.map((element) => element.textContent.slice(0, 40)))],
    wider: document.documentElement.scrollWidth - innerWidth,
  };
  document.documentElement.setAttribute("data-found", JSON.stringify(found));
});
