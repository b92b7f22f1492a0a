(function () {
  var data = JSON.parse(document.getElementById("data").textContent);
  data.figures.forEach(function (drawn) { Plotly.newPlot(drawn.id, drawn.data, drawn.layout, data.config); });
})();
